package impls

import "sync"

// watchdogObject is what the published lock object keeps in its fields. Each method is one atomic step, for locks and watchdogs that run
// concurrently.
type watchdogObject struct {
	mu      sync.Mutex
	on      bool // the flag that keeps watchdogs going
	cleared int  // how often it was cleared
	spent   int  // retries used up
}

// watchdogMonitorName is what the locks of a process know the monitor by.
const watchdogMonitorName = "watchdog-published monitor"

// watchdogMonitor is the static object on which watchdogs synchronise.
type watchdogMonitor struct {
	mu      sync.Mutex
	entered bool
}

func (s *watchdogObject) set() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

func (s *watchdogObject) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = false
	s.cleared++
}

func (s *watchdogObject) clearings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cleared
}

// keeps says whether the flag is on and was not cleared since: a watchdog that waits busily notices every clearing.
func (s *watchdogObject) keeps(cleared int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && s.cleared == cleared
}

// retry uses a retry, if one is left.
func (s *watchdogObject) retry() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spent == publishedRetries {
		return false
	}
	s.spent++
	return true
}

func (s *watchdogObject) restoreRetries() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = 0
}

// enter enters the monitor, unless another watchdog is in it.
func (m *watchdogMonitor) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entered {
		return false
	}
	m.entered = true
	return true
}

func (m *watchdogMonitor) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entered = false
}
