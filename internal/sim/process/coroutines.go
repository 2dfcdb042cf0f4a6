package process

import "iter"

// Coroutines carry out the tasks of processes, one after the other: a coroutine whose task has ended takes the next, and its stack need not grow again. They
// are used by one goroutine. Close ends those that are idle, after the processes that use them.
type Coroutines struct {
	idle []*coroutine
}

// coroutine runs one function after the other. It yields when a function has ended, too.
type coroutine struct {
	owner  *Coroutines // nil: it ends with its first function
	resume func() (struct{}, bool)
	end    func()
	yield  func(struct{}) bool
	run    func() // nil: the last has ended
}

// take is a coroutine that will run a function when it is resumed.
func (c *Coroutines) take(run func()) *coroutine {
	if c != nil && len(c.idle) > 0 {
		last := len(c.idle) - 1
		r := c.idle[last]
		c.idle = c.idle[:last]
		r.run = run
		return r
	}
	r := &coroutine{owner: c, run: run}
	r.resume, r.end = iter.Pull(r.loop)
	return r
}

func (r *coroutine) loop(yield func(struct{}) bool) {
	roots.Do(func() { roots.ofTasks = root() })
	r.yield = yield
	for {
		r.run()
		if r.run = nil; r.owner == nil || !yield(struct{}{}) {
			return
		}
	}
}

// step runs the function until it waits. It says whether it has ended.
func (r *coroutine) step() (ended bool) {
	if _, more := r.resume(); !more {
		return true
	}
	if ended = r.run == nil; ended {
		r.owner.idle = append(r.owner.idle, r)
	}
	return ended
}

// Close ends the coroutines.
func (c *Coroutines) Close() {
	for _, r := range c.idle {
		r.end()
	}
	c.idle = nil
}
