package protocol

import "github.com/locklab/locklab/history"

// Reply encodes an answer as a message; Message.Answer decodes it.
func Reply(a history.Answer) Message {
	m := Message{Outcome: Unknown, Unsupported: a.Unsupported, Error: a.Error}
	switch a.Outcome {
	case history.OK:
		m.Outcome = OK
	case history.No:
		m.Outcome = No
	}
	if a.Limited {
		left := max(MS(a.Valid), 0)
		m.ValidMS = &left
	}
	if a.Fence != 0 {
		m.Fence = &a.Fence
	}
	if a.Counted {
		m.Read, m.Wrote = &a.Read, &a.Wrote
	}
	return m
}

// Answer decodes a reply to an operation. An outcome that is neither ok nor no is unknown.
func (m Message) Answer() history.Answer {
	a := history.Answer{Outcome: history.Unknown, Unsupported: m.Unsupported, Error: m.Error}
	switch m.Outcome {
	case OK:
		a.Outcome = history.OK
	case No:
		a.Outcome = history.No
	}
	if m.ValidMS != nil {
		a.Limited, a.Valid = true, Duration(*m.ValidMS)
	}
	if m.Fence != nil {
		a.Fence = *m.Fence
	}
	if m.Read != nil {
		a.Counted, a.Read = true, *m.Read
	}
	if m.Wrote != nil {
		a.Counted, a.Wrote = true, *m.Wrote
	}
	return a
}
