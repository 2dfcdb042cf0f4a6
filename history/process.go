package history

import "strings"

// ProcessOf is the process of a client: C1.b is a further handle in the process of C1.
func ProcessOf(client string) string {
	process, _, _ := strings.Cut(client, ".")
	return process
}
