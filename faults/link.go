package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Direction is a part of a link's traffic.
type Direction uint8

// The directions.
const (
	Both Direction = iota
	Requests
	Replies
)

func (d Direction) String() string {
	return [...]string{"requests and replies", "requests", "replies"}[d]
}

// Includes says whether traffic in one direction is part of d.
func (d Direction) Includes(one Direction) bool { return d == Both || d == one }

// RightClock is the text by which histories record that a client's clock is right again.
const RightClock = "offset 0s, rate 1"

const clockSetting = "offset %v, rate %g"

// ClockSetting is the text by which histories record how a client's clock is set.
func ClockSetting(offset time.Duration, rate float64) string {
	return fmt.Sprintf(clockSetting, offset, rate)
}

// ClockRate reads from such a text at which rate the clock runs; 1 if it does not say.
func ClockRate(setting string) float64 {
	_, text, _ := strings.Cut(setting, "rate ")
	if rate, err := strconv.ParseFloat(text, 64); err == nil && rate > 0 {
		return rate
	}
	return 1
}

// LinkFault is a fault of a link: Partition, Refuse, Delay or ReplyLost.
type LinkFault struct {
	Kind      Kind
	Direction Direction     // of a Partition
	Each      time.Duration // of a Delay: each way
}

const eachWay = " each way"

// String says what the fault does to the link.
func (f LinkFault) String() string {
	switch f.Kind {
	case Partition:
		return f.Direction.String() + " held"
	case Delay:
		return f.Each.String() + eachWay
	case Refuse:
		return "connections broken and refused"
	case ReplyLost:
		return "replies dropped"
	}
	return string(f.Kind)
}

// DelayOf reads from the text of a Delay how late each message is; zero if it does not say.
func DelayOf(text string) time.Duration {
	before, _, found := strings.Cut(text, eachWay)
	if !found {
		return 0
	}
	each, _ := time.ParseDuration(before[strings.LastIndex(before, " ")+1:]) // after the servers that it concerns
	return each
}

// BreaksConnections says whether the fault, or its end, breaks the client's connections.
func (f LinkFault) BreaksConnections() bool { return f.Kind == Refuse || f.Kind == ReplyLost }
