package checker

// ofSeveral says whether an anomaly means something for a lock of several permits, a semaphore. The others speak of the one owner of a lock, or of data
// that one client at a time works on.
func (n Name) ofSeveral() bool {
	switch n {
	case DoubleHolder, StuckLock, HungOperation, DeadGrant:
		return true
	}
	return false
}
