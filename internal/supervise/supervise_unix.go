//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
)

// The child's ends of the pipes.
const (
	fdSignals = 3 // a byte for each signal that the parent was sent; it ends with the parent
	fdTrace   = 4
	fdStops   = 5 // what the child says about its stops
)

// passedOn are the signals that both processes catch.
func passedOn() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM} }

// fatal are signals at which the runtime writes a trace and exits with 2. The child is to do so: then it is known to have crashed.
func fatal() []os.Signal {
	return []os.Signal{
		syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
	}
}

// Child says whether this process is the child. If so, it takes the parent's argument out of os.Args, and returns the SIGINT and SIGTERM that
// either process is sent. The child ends with its parent.
func Child() (signals <-chan os.Signal, is bool, err error) {
	if len(os.Args) < 2 || os.Args[1] != asChild {
		return nil, false, nil
	}
	os.Args = append(os.Args[:1:1], os.Args[2:]...)
	for _, fd := range []int{fdSignals, fdTrace, fdStops} {
		if !isPipe(fd) {
			return nil, true, fmt.Errorf("%s: this program starts itself so, and nobody else does", asChild)
		}
		syscall.CloseOnExec(fd)
	}
	trace := os.NewFile(fdTrace, "trace")
	if err := errors.Join(debug.SetCrashOutput(trace, debug.CrashOptions{}), trace.Close()); err != nil {
		return nil, true, err
	}
	t := newTally()
	own := make(chan os.Signal, 16)
	signal.Notify(own, passedOn()...)
	go func() {
		for sig := range own {
			t.add(sig, direct)
		}
	}()
	go follow(os.NewFile(fdSignals, "signals"), t)
	go stopWithParent(os.Getppid(), os.NewFile(fdStops, "stops"))
	return t.out, true, nil
}

func isPipe(fd int) bool {
	var about syscall.Stat_t
	return syscall.Fstat(fd, &about) == nil && about.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// follow takes in the signals that the parent passes on, and ends the process when the parent is gone.
func follow(from io.Reader, t *tally) {
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(from, one); err != nil {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			return
		}
		t.add(syscall.Signal(one[0]), passed)
	}
}

// Run starts this program once more, as the child, and waits for its end. If it cannot be started, err says why. Call it once, from the main goroutine.
func Run() (End, error) {
	path, err := os.Executable()
	if err != nil {
		return End{}, err
	}
	// Its end is the end of this thread: the main thread ends with the process only.
	runtime.LockOSThread()
	orders, toChild, err := os.Pipe()
	if err != nil {
		return End{}, err
	}
	defer toChild.Close()
	trace, fromChild, err := os.Pipe()
	if err != nil {
		return End{}, errors.Join(err, orders.Close())
	}
	defer trace.Close()
	stops, toParent, err := os.Pipe()
	if err != nil {
		return End{}, errors.Join(err, orders.Close(), fromChild.Close())
	}
	defer stops.Close()
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{os.Args[0], asChild}, os.Args[1:]...),
		Env: environment(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		ExtraFiles: []*os.File{orders, fromChild, toParent}, SysProcAttr: withParent(),
	}
	caught := make(chan os.Signal, 16)
	signal.Notify(caught, append(passedOn(), fatal()...)...)
	err = cmd.Start()
	_, _, _ = orders.Close(), fromChild.Close(), toParent.Close()
	if err != nil {
		signal.Reset()
		return End{}, err
	}
	go pass(caught, toChild, cmd.Process)
	go continueChild(stops, cmd.Process)
	written, _ := io.ReadAll(io.LimitReader(trace, mostTrace)) // until the child is gone
	_, _ = io.Copy(io.Discard, trace)
	_ = cmd.Wait() // what it came to is in ProcessState
	return endOf(cmd.ProcessState, written), nil
}

// pass passes signals on to the child. One that it has had from the terminal counts once.
func pass(caught <-chan os.Signal, orders io.Writer, child *os.Process) {
	for sig := range caught {
		if slices.Contains(fatal(), sig) { // the runtime's business
			_ = child.Signal(sig)
			continue
		}
		_, _ = orders.Write([]byte{byte(sig.(syscall.Signal))})
	}
}

func endOf(state *os.ProcessState, trace []byte) End {
	end := End{Code: state.ExitCode(), Trace: trace}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal()
	}
	return end
}
