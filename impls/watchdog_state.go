package impls

// Each method is one atomic step, for locks and watchdogs that run concurrently.

func (s *watchdogState) set() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

func (s *watchdogState) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	s.cleared++
}

func (s *watchdogState) clearings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cleared
}

// keeps says whether the flag is on and was not cleared since: a watchdog that waits busily notices every clearing.
func (s *watchdogState) keeps(cleared int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && s.cleared == cleared
}

func (s *watchdogState) getToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *watchdogState) setToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// retry uses a retry, if one is left.
func (s *watchdogState) retry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent == publishedRetries {
		return false
	}
	s.spent++
	return true
}

func (s *watchdogState) restoreRetries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = 0
}

// enter enters the monitor, unless another watchdog is in it.
func (s *watchdogState) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.monitored {
		return false
	}
	s.monitored = true
	return true
}

func (s *watchdogState) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitored = false
}
