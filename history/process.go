package history

import (
	"cmp"
	"strings"
)

// A client's name says what is one with others: "C1.b/2" is lock object b of the process C1, used by thread 2. A part that is not named is the
// first of its kind: C1 is C1.a/1.
const (
	firstObject = "a"
	firstThread = "1"
)

// ProcessOf is the process of a client: C1.b is another lock object in the process of C1, C1/2 another thread.
func ProcessOf(client string) string {
	process, _, _ := strings.Cut(client, "/")
	process, _, _ = strings.Cut(process, ".")
	return process
}

// ObjectOf is the lock object that a client uses, by its name in the process.
func ObjectOf(client string) string {
	named, _, _ := strings.Cut(client, "/")
	_, object, _ := strings.Cut(named, ".")
	return cmp.Or(object, firstObject)
}

// ThreadOf is the thread of a client, by its number in the process.
func ThreadOf(client string) string {
	_, thread, _ := strings.Cut(client, "/")
	return cmp.Or(thread, firstThread)
}
