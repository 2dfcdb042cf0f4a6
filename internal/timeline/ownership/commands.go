package ownership

import "strings"

// RunsScript says whether a command, by its name, may do several things and fail in between.
func RunsScript(name string) bool {
	switch strings.ToUpper(name) {
	case "EVAL", "EVALSHA", "FCALL", "EXEC":
		return true
	}
	return false
}
