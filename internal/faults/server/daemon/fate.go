package daemon

import "sync"

// Fate is when and how a process ended against the lab's will. The processes of one server share it.
type Fate struct {
	once sync.Once
	died chan struct{}
	how  string
}

func NewFate() *Fate { return &Fate{died: make(chan struct{})} }

func (f *Fate) meet(how string) {
	f.once.Do(func() {
		f.how = how
		close(f.died)
	})
}

// Died is closed when a process has ended, other than by a restart or a fail-over.
func (f *Fate) Died() <-chan struct{} { return f.died }

// End says how it ended, once Died is closed.
func (f *Fate) End() string { return f.how }
