package tap

// naming is what a server is called in the history.
type naming struct {
	server string
	astray bool // it is not asked for the state of keys
}

// ways are where connections of clients lead.
type ways struct {
	called   naming // the tap's own server
	diverted diversion
}

// diversion sends the connections of some clients to another server.
type diversion struct {
	of   func(client string) bool // nil: none
	addr string
	naming
}

// Divert sends new connections of the clients to another server at an address. In the history it has a name of its own, and it is not asked
// for the state of keys. A nil function ends that.
func (t *Tap) Divert(of func(client string) bool, addr, server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ways.diverted = diversion{of, addr, naming{server, true}}
}

// Call gives the server another name in the history, from the next command on, and says whether it is asked for the state of keys.
func (t *Tap) Call(server string, asked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ways.called = naming{server, !asked}
}

// calledNow is what the tap's own server is called.
func (t *Tap) calledNow() naming {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ways.called
}

// wayOf is the address of the server for a connection of a client, and what it is called there if it is not the tap's own; else nil.
func (t *Tap) wayOf(client string) (addr string, other *naming) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.ways.diverted; d.of != nil && d.of(client) {
		return d.addr, &d.naming
	}
	return t.cfg.Upstream, nil
}
