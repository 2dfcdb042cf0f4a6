package supervise

import (
	"bytes"
	"fmt"
	"os"
)

// stopped says whether a signal has stopped a process. What a debugger holds is not stopped.
func stopped(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(line[bytes.LastIndexByte(line, ')')+1:], []byte(" ")) // "PID (NAME) STATE …"; a name may hold brackets
	return len(state) > 0 && state[0] == 'T'
}
