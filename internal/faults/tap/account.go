package tap

// charge takes or gives back what the state of the connection has come to take. The caller has mu.
func (s *session) charge() {
	if err := s.account.Resize(s.dialect.charged, s.dialect.size); err != nil {
		s.complain("request", err)
		s.up.Close()
		return
	}
	s.dialect.charged = s.dialect.size
}

// keep charges the connection for bytes that the tap keeps; if there are too many, the connection ends.
func (s *session) keep(bytes int) bool {
	err := s.account.Take(bytes)
	if err != nil {
		s.complain("request", err)
		s.up.Close()
	}
	return err == nil
}
