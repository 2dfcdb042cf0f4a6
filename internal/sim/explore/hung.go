package explore

// A release that nothing disturbs must end, at the latest when every lease has. Its user waits a little longer, and then gives it up: a
// hung-operation. Faults of a client's messages, of its clock and of a server excuse whatever comes after them. That a client was paused
// excuses a release only if it was in the middle of it.

// disturbed says that a release was not left alone, or that the search does not look for hung operations.
const disturbed ms = -1

// patience is how long a user waits for its release.
func (j *judge) patience() ms { return j.lease * 5 / 4 }

// releaseBegins: a client has called its release.
func (j *judge) releaseBegins(c *client) {
	c.waits = 0
	if j.only&hungOperation == 0 || c.has(struck) || j.s.spent[clockJump]+j.s.spent[clockBack]+j.s.spent[restart]+j.s.spent[failOver] > 0 {
		c.waits = disturbed
	}
}

// disturbForGood: a fault that nothing takes back has struck.
func (j *judge) disturbForGood(c *client) {
	c.set(struck)
	j.disturb(c)
}

// disturb: something may delay the operation of a client.
func (j *judge) disturb(c *client) {
	c.queued.served = c.queued.served || c.queued.asking
	if c.phase == releasing {
		c.waits = disturbed
	}
}

// releaseWaited lets time pass for a release, and says whether its user gives it up now.
func (j *judge) releaseWaited(c *client, d ms) bool {
	if c.phase != releasing || c.waits == disturbed || c.waits >= j.patience() {
		return false
	}
	c.waits = min(c.waits+d, j.patience())
	if c.waits < j.patience() {
		return false
	}
	j.found |= hungOperation
	return true
}
