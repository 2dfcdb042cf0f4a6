package history

import "strings"

// ProcessOf is the process that a client of a history lives in: C1.b is a further lock object in the process of C1.
func ProcessOf(client string) string {
	process, _, _ := strings.Cut(client, ".")
	return process
}
