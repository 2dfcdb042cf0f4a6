package explore

import "slices"

// Processes that stand at a node are kept until somebody asks what comes next there: it takes one step then, and not the whole way
// from the beginning. Which of those at a node answers makes no difference, or the lock is no function of what it is given.

// mostSeats is how many processes are kept; each may have a coroutine for every task.
const mostSeats = 1024

// class are processes that wait to be asked, by node.
type class struct {
	at    map[uint32][]*student
	seats []*student // the next to be given up is at chair
	chair int
}

func newClass() class {
	return class{at: map[uint32][]*student{}, seats: make([]*student, mostSeats)}
}

// keep gives a student a seat, and gives up whoever has had it.
func (c *class) keep(s *student) {
	if last := c.seats[c.chair]; last != nil {
		c.leave(last)
		last.process.Close()
	}
	s.seat = c.chair
	c.seats[c.chair] = s
	c.at[s.at] = append(c.at[s.at], s)
	c.chair = (c.chair + 1) % mostSeats
}

// leave takes a student from its seat.
func (c *class) leave(s *student) {
	c.seats[s.seat] = nil
	others := slices.DeleteFunc(c.at[s.at], func(other *student) bool { return other == s })
	if len(others) == 0 {
		delete(c.at, s.at)
		return
	}
	c.at[s.at] = others
}

// call finds a student at a node; nil: there is none.
func (c *class) call(at uint32) *student {
	list := c.at[at]
	if len(list) == 0 {
		return nil
	}
	s := list[len(list)-1]
	c.leave(s)
	return s
}

// dismiss ends all.
func (c *class) dismiss() {
	for _, s := range c.seats {
		if s != nil {
			s.process.Close()
		}
	}
	*c = newClass()
}
