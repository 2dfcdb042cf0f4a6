package main

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/internal/supervise"
)

// contained carries work out in a child of this process, so that a crash of it ends with an exit code of the lab's, and returns the exit code.
// work gets the signals that are to interrupt it, or nil for those of its process.
func contained(args []string, work func(signals <-chan os.Signal) int) int {
	signals, isChild, err := supervise.Child()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		return cli.CodeFailed
	case isChild:
		return work(signals)
	case !crashMatters(args):
		return work(nil)
	}
	end, err := supervise.Run()
	if err != nil { // it runs all the same: only a crash would end with another code
		return work(nil)
	}
	return codeOf(end, os.Stderr)
}

// crashMatters says whether a crash has to end with an exit code of the lab's. A client process is under test, and the completion of a word is
// to be quick.
func crashMatters(args []string) bool {
	return len(args) > 0 && args[0] != "worker" && args[0] != "__complete" && args[0] != "__completeNoDesc"
}

// codeOf is the exit code of the lab for the end of the process that did its work. It says what a crash means, and where its trace is.
func codeOf(end supervise.End, stderr io.Writer) int {
	switch {
	case end.Crashed():
		kept := "above"
		if path, err := keepTrace(end.Trace); err == nil {
			kept += " and in " + path
		}
		fmt.Fprintf(stderr, "\nlab: the lab has crashed, which says nothing about a lock: %s\nlab: the trace is %s; please send it with your report\n",
			format.Clean(end.Reason()), kept)
		return cli.CodeFailed
	case end.Quit():
		return cli.CodeSignal + int(syscall.SIGQUIT)
	case end.Signal == os.Kill:
		fmt.Fprintln(stderr, "lab: the lab was killed (SIGKILL); if nobody did that, the machine had no memory left")
		return cli.CodeFailed
	case end.Signal != nil:
		return cli.CodeSignal + signalNumber(end.Signal)
	}
	return end.Code
}

// signalNumber is the number of a signal that ended a process.
func signalNumber(sig os.Signal) int {
	if number, ok := sig.(syscall.Signal); ok {
		return int(number)
	}
	return 0
}

// keepTrace writes a trace to a new file in the directory for temporary files, and returns its path.
func keepTrace(trace []byte) (string, error) {
	file, err := os.CreateTemp("", "lab-crash-*.txt")
	if err != nil {
		return "", err
	}
	if _, err := file.Write(trace); err != nil {
		_ = file.Close()
		return "", err
	}
	return file.Name(), file.Close()
}
