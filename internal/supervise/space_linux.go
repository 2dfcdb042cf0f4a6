package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// Confined says whether the address space of this process is limited (ulimit -v). What is only reserved counts, too.
func Confined() bool {
	var space unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_AS, &space) == nil && space.Cur != unix.RLIM_INFINITY
}

// environment is that of the child. In a limited address space the C library must not reserve 64 MiB for each thread: sixteen threads would have a GB.
func environment() []string {
	const arenas = "MALLOC_ARENA_MAX"
	if _, set := os.LookupEnv(arenas); set || !Confined() {
		return nil // as this process has it
	}
	return append(os.Environ(), arenas+"=1")
}
