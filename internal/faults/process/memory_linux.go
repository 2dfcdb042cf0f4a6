package process

import "golang.org/x/sys/unix"

// limitMemory bounds the writable memory of a process. The stacks and the code of a program are not in it.
func limitMemory(pid int, bytes uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
}
