package explore

// A release that nothing holds up must end, at the latest when every lease has; its user waits a little longer, and then gives it up. See
// the checker's noReturn. What is done to a client's messages or to its clock, and what is done to a server, may hold up whatever
// comes after it; that a client stood still does so only if it was in the midst of its release.

// heldUp says that a release was not left alone.
const heldUp ms = -1

// patience is how long a user waits for its release.
func (j *judge) patience() ms { return j.lease * 5 / 4 }

// beginsRelease takes in that a client has called its release.
func (j *judge) beginsRelease(c *client) {
	c.waits = 0
	if c.has(struck) || j.s.spent[clockJump]+j.s.spent[restart]+j.s.spent[failOver] > 0 {
		c.waits = heldUp
	}
}

// strikes takes in a fault that nothing takes back.
func (j *judge) strikes(c *client) {
	c.set(struck)
	j.holdsUp(c)
}

// holdsUp takes in that something may hold up what a client is at.
func (j *judge) holdsUp(c *client) {
	c.line.served = c.line.served || c.line.asking
	if c.phase == releasing {
		c.waits = heldUp
	}
}

// waited lets time pass for a release, and says whether its user has just had enough.
func (j *judge) waited(c *client, d ms) bool {
	if c.phase != releasing || c.waits == heldUp || c.waits >= j.patience() {
		return false
	}
	c.waits = min(c.waits+d, j.patience())
	if c.waits < j.patience() {
		return false
	}
	j.found |= noReturn
	return true
}
