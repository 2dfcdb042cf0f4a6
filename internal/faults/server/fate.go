package server

import "sync"

// fate is when and how a process ended against the lab's will. The processes of one server share it.
type fate struct {
	once sync.Once
	died chan struct{}
	how  string
}

func newFate() *fate { return &fate{died: make(chan struct{})} }

func (f *fate) meet(how string) {
	f.once.Do(func() {
		f.how = how
		close(f.died)
	})
}

// Died is closed when a process has ended, other than by a restart or a fail-over.
func (f *fate) Died() <-chan struct{} { return f.died }

// End says how it ended, once Died is closed.
func (f *fate) End() string { return f.how }
