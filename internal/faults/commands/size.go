package commands

import (
	"bytes"
	"strconv"
)

// Bounds on what one command makes a server of others allocate beyond what it sends.
const (
	maxLength = 16 << 20 // bytes of a string
	maxCount  = 10_000   // elements
)

const (
	tooLong     = "its offset must be a number, and within 16 MiB"
	tooMany     = "its count must be a number from 0 to 10,000"
	unknownForm = "the lab does not know this form of it as one that touches nothing else"
)

// tooLarge says why a command could make the server allocate more than it sends, or is empty. An argument that is missing, or is none, is
// the server's to refuse; one that cannot be read is refused here.
func (t Traits) tooLarge(args [][]byte) string {
	switch t.Name {
	case "SETRANGE":
		if len(args) > 3 && !atMost(args[2], maxLength-int64(len(args[3]))) {
			return tooLong
		}
	case "SETBIT":
		if len(args) > 2 && !atMost(args[2], 8*maxLength-1) {
			return tooLong
		}
	case "BITFIELD":
		return bitsTooLarge(args)
	case "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		if len(args) > 2 && !atMost(args[2], maxCount) { // below 0 the reply would repeat elements of any size
			return tooMany
		}
	case "XAUTOCLAIM":
		return claimTooLarge(args)
	}
	return ""
}

// bitsTooLarge follows the subcommands of BITFIELD.
func bitsTooLarge(args [][]byte) string {
	for i := 2; i < len(args); {
		switch word := upper(args, i); word {
		case "GET":
			i += 3
		case "OVERFLOW":
			i += 2
		case "SET", "INCRBY":
			if i+2 >= len(args) {
				return ""
			}
			width := int64(1)
			offset, counted := bytes.CutPrefix(args[i+2], []byte("#"))
			if counted {
				width = 64 // at most
			}
			if !atMost(offset, (8*maxLength-64)/width) {
				return tooLong
			}
			i += 4
		default:
			return unknownForm
		}
	}
	return ""
}

// claimTooLarge follows the options of XAUTOCLAIM.
func claimTooLarge(args [][]byte) string {
	for i := 6; i < len(args); {
		switch upper(args, i) {
		case "JUSTID":
			i++
		case "COUNT":
			if i+1 < len(args) && !atMost(args[i+1], maxCount) {
				return tooMany
			}
			i += 2
		default:
			return unknownForm
		}
	}
	return ""
}

// atMost says whether an argument is a number from 0 to most.
func atMost(arg []byte, most int64) bool {
	n, err := strconv.ParseUint(string(arg), 10, 63)
	return err == nil && int64(n) <= most
}
