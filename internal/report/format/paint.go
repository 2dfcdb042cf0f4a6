package format

// Paint colours text, or leaves it alone if it is false.
type Paint bool

func (p Paint) With(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Paint) Bold(s string) string  { return p.With("1", s) }
func (p Paint) Dim(s string) string   { return p.With("2", s) }
func (p Paint) Alarm(s string) string { return p.With("1;37;41", s) }
