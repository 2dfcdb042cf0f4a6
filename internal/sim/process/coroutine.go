package process

import "iter"

// coroutine runs the function of a task.
type coroutine struct {
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
}

func newCoroutine(run func()) *coroutine {
	r := &coroutine{}
	r.resume, _ = iter.Pull(func(yield func(struct{}) bool) {
		roots.Do(func() { roots.ofTasks = root() })
		r.yield = yield
		run()
	})
	return r
}

// step runs the function until it waits. It says whether it has ended.
func (r *coroutine) step() (ended bool) {
	_, more := r.resume()
	return !more
}
