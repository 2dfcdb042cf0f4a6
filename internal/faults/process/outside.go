package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// outsideTime bounds a command of the user's. What it leaves in the background goes on.
const outsideTime = 30 * time.Second

// mostStderr bounds what is kept of a command's standard error, in bytes: its end.
const mostStderr = 4 << 10

// outsideEnd is how a command ended.
type outsideEnd struct {
	Failed string `json:"failed,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Left   []int  `json:"left,omitempty"` // the processes that it has left in the background
}

// Outside runs a shell command of the user's whose processes are not the lab's: what it leaves in the background, such as a server, outlives the lab. argv
// is the command that runs OutsideMain. The error has the end of the command's standard error.
func (g *Guard) Outside(argv []string, command string) error {
	if len(argv) == 0 {
		return errors.New("no command that runs others is given")
	}
	cmd := exec.Command(argv[0], append(argv[1:], command)...)
	ownSession(cmd) // a signal of the terminal is not for the server
	goOn, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	g.mu.Lock()
	if g.closed {
		err = errClosed
	} else if err = cmd.Start(); err == nil {
		g.exempt(cmd.Process.Pid)
	}
	g.mu.Unlock()
	if err != nil {
		return err
	}
	overdue := time.AfterFunc(outsideTime+patience, func() { _ = cmd.Process.Kill() })
	defer overdue.Stop()
	var end outsideEnd
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	if readErr == nil {
		readErr = json.Unmarshal(line, &end)
	}
	g.mu.Lock()
	g.exempt(end.Left...)
	g.mu.Unlock()
	_ = goOn.Close() // it ends, and its children become those of this process
	_ = cmd.Wait()
	switch {
	case readErr != nil:
		return fmt.Errorf("what ran it ended before it had: %w", readErr)
	case end.Failed != "" && end.Stderr != "":
		return fmt.Errorf("%s: %s", end.Failed, end.Stderr)
	case end.Failed != "":
		return errors.New(end.Failed)
	}
	return nil
}

// exempt keeps processes from being taken for orphans of clients. g.mu is held.
func (g *Guard) exempt(pids ...int) {
	if g.outside == nil {
		g.outside = map[int]bool{}
	}
	for _, pid := range pids {
		g.outside[pid] = true
	}
}

// OutsideMain is the main function of the process that runs a command for Outside. It stays the parent of what the command leaves in the background
// until its input ends.
func OutsideMain(stdin io.Reader, stdout io.Writer, command string) error {
	if err := adopt(); err != nil {
		return err
	}
	end := outsideEnd{}
	stderr, err := Shell(context.Background(), command)
	if err != nil {
		end.Failed, end.Stderr = err.Error(), stderr
	}
	if end.Left, err = ownChildren(); err != nil {
		return err
	}
	if err := json.NewEncoder(stdout).Encode(end); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	return err
}

// Shell runs a shell command, for half a minute at most, and returns the end of its standard error in one line.
func Shell(ctx context.Context, command string) (stderr string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, outsideTime, fmt.Errorf("it took longer than %v", outsideTime))
	defer cancel()
	said, err := os.CreateTemp("", "locklab-stderr-") // no pipe: what it leaves in the background may go on writing
	if err != nil {
		return "", err
	}
	defer said.Close()
	if err := os.Remove(said.Name()); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	for _, setting := range cmd.Environ() {
		if !strings.HasPrefix(setting, markVar+"=") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Stderr = said
	ownSession(cmd)
	cmd.Cancel = func() error { return signalGroup(cmd.Process.Pid, sigKill) }
	if err = cmd.Run(); ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	size, sizeErr := said.Seek(0, io.SeekEnd)
	if sizeErr != nil {
		return "", errors.Join(err, sizeErr)
	}
	text := make([]byte, min(size, mostStderr))
	if _, readErr := said.ReadAt(text, size-int64(len(text))); readErr != nil && readErr != io.EOF {
		return "", errors.Join(err, readErr)
	}
	return strings.Join(strings.Fields(string(text)), " "), err
}
