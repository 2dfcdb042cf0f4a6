package protocol

import (
	"encoding/json"
	"fmt"
)

// Resends says on what a client's library sends a command again. In JSON it is a word, or true for ResendsUnanswered.
type Resends string

// What a library resends on.
const (
	ResendsNothing Resends = ""
	// ResendsUnanswered: no reply comes, within a time-out of the library's or because the connection ends.
	ResendsUnanswered Resends = "no-reply"
	// ResendsBroken: the connection ends. For a reply that does not come on one that lasts, the library waits.
	ResendsBroken Resends = "connection"
)

// ResendsIf is ResendsUnanswered of a library that resends.
func ResendsIf(resends bool) Resends {
	if resends {
		return ResendsUnanswered
	}
	return ResendsNothing
}

// UnmarshalJSON reads true, false or a word.
func (r *Resends) UnmarshalJSON(text []byte) error {
	var yes bool
	if json.Unmarshal(text, &yes) == nil {
		*r = ResendsIf(yes)
		return nil
	}
	var word string
	if json.Unmarshal(text, &word) == nil && (Resends(word) == ResendsUnanswered || Resends(word) == ResendsBroken) {
		*r = Resends(word)
		return nil
	}
	return fmt.Errorf("hello.resends is %s, and must be true, false, %q or %q", clip(string(text)), ResendsUnanswered, ResendsBroken)
}

// MarshalJSON writes true for what was the only kind before there were words.
func (r Resends) MarshalJSON() ([]byte, error) {
	if r == ResendsUnanswered {
		return []byte("true"), nil
	}
	return json.Marshal(string(r))
}
