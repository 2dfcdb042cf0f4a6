package explore

import "time"

// What can be explored at most.
const (
	MostClients = mostClients - 1
	MostRounds  = 4
	MostReenter = 3
	MostServers = mostServers
	MostFaults  = 9
	LeastSkew   = time.Millisecond // the model counts in these
	MostSkew    = 20 * time.Minute
)

// Flag is the name of the fault's budget on a command line: the fault, more than one of it.
func (f Fault) Flag() string {
	switch f {
	case Crash:
		return "crashes"
	case LostReply:
		return "lost-replies"
	case ClockAhead:
		return "clocks-ahead"
	case ClockBehind:
		return "clocks-behind"
	}
	return f.String() + "s"
}
