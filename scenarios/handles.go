package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locklab/locklab/history"
)

// Actors lists the clients, each followed by the further handles in its process.
func (s *Script) Actors() []string {
	var all []string
	for _, client := range s.Clients {
		all = append(all, client)
		all = append(all, s.HandlesOf(client)...)
	}
	return all
}

// HandlesOf lists the further handles in a client's process.
func (s *Script) HandlesOf(client string) []string {
	var all []string
	for _, handle := range s.Handles {
		if history.ProcessOf(handle) == client {
			all = append(all, handle)
		}
	}
	return all
}

// OnOtherKey says whether an actor's lock is for the other key.
func (s *Script) OnOtherKey(actor string) bool { return slices.Contains(s.OtherKey, actor) }

// clients reads the clients and handles: "C1 C1.b C2", where C1.b is a further handle in C1's process.
func (p *parser) clients(names []string) error {
	if len(names) > maxClients {
		return fmt.Errorf("%d clients are too many; at most %d are possible", len(names), maxClients)
	}
	var clients, handles []string
	for i, name := range names {
		client, handle, further := strings.Cut(name, ".")
		if err := checkName(client); err != nil {
			return err
		}
		if further && !isName(handle) {
			return fmt.Errorf("a handle cannot be called %q; its name is that of its client, a dot and another name, as in C1.b", name)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("client %q is named twice", name)
		}
		if further && !slices.Contains(names, client) {
			return fmt.Errorf("%s is a handle in the process of %s, which is not there; name %s as well", name, client, client)
		}
		if further {
			handles = append(handles, name)
		} else {
			clients = append(clients, name)
		}
	}
	p.script.Clients, p.script.Handles = clients, handles
	return p.clash()
}

// otherKey checks the header other-key, after all headers have been read.
func (p *parser) otherKey() error {
	actors := p.script.Actors()
	for i, name := range p.script.OtherKey {
		if !slices.Contains(actors, name) {
			return unknownWord("client", name, actors)
		}
		if slices.Contains(p.script.OtherKey[:i], name) {
			return fmt.Errorf("client %q is named twice", name)
		}
	}
	if len(p.script.OtherKey) == len(actors) {
		return fmt.Errorf("all clients are on the other key, so nobody is on the first; remove one")
	}
	return nil
}
