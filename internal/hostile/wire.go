package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/locklab/locklab/internal/faults/resp"
)

// The lab ends the connections of an attack, so most errors here are what the attacker has to expect. He goes on as if nothing had happened.

// converse sends something to a server, and reads until the server has answered all of it and closes the connection.
func converse(addr string, write func(io.Writer)) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	go func() {
		to := bufio.NewWriterSize(conn, 64<<10)
		write(to)
		fmt.Fprint(to, command("QUIT"))
		_ = to.Flush()
	}()
	_, _ = io.Copy(io.Discard, conn)
	return nil
}

// sends sends a line to the lock server.
func sends(line string) func(*scene) error {
	return func(s *scene) error { return converse(s.server, func(w io.Writer) { fmt.Fprint(w, line, "\r\n") }) }
}

// sendsResource sends a line to the resource.
func sendsResource(line string) func(*scene) error {
	return func(s *scene) error {
		return converse(s.resource, func(w io.Writer) { fmt.Fprint(w, line, "\r\n") })
	}
}

func command(args ...string) string { return string(resp.AppendCommand(nil, args...)) }

// script has the lock server run a script.
func script(text string) func(*scene) error {
	return func(s *scene) error {
		return converse(s.server, func(w io.Writer) { fmt.Fprint(w, command("EVAL", text, "0")) })
	}
}

func flushByScript(s *scene) error {
	for _, addr := range []string{s.server, s.resource} {
		err := converse(addr, func(w io.Writer) { fmt.Fprint(w, command("EVAL", "redis.call('FLUSHALL')", "0")) })
		if err != nil {
			return err
		}
	}
	return nil
}

func largeArgument(s *scene) error {
	return converse(s.server, func(w io.Writer) {
		const size = 400 << 20
		fmt.Fprintf(w, "*2\r\n$4\r\nECHO\r\n$%d\r\n", size)
		repeat(w, "x", size)
	})
}

// repeat writes a text many times, until the other side does not want it any more.
func repeat(w io.Writer, text string, times int) {
	atOnce := max(1, 64<<10/len(text))
	chunk := strings.Repeat(text, min(atOnce, times))
	for times > 0 {
		n := min(atOnce, times)
		if _, err := io.WriteString(w, chunk[:n*len(text)]); err != nil {
			return
		}
		times -= n
	}
}

// connect makes connections to the lock server, and does something with each. They stay open.
func (s *scene) connect(n int, use func(net.Conn)) {
	for range n {
		conn, err := net.Dial("tcp", s.server)
		if err != nil {
			return
		}
		s.open = append(s.open, conn)
		use(conn)
	}
}

// await waits until a connection is served, or is not.
func await(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }

// most is what one string may have for the lab to let it pass, roughly.
const most = 15 << 20

func halfCommands(s *scene) error {
	s.connect(20, func(conn net.Conn) {
		fmt.Fprintf(conn, "*2\r\n$4\r\nECHO\r\n$%d\r\n", most+1)
		repeat(conn, "x", most)
	})
	return nil
}

// arguments are one-byte arguments of a request.
func arguments(w io.Writer, n int) { repeat(w, "$1\r\nx\r\n", n) }

func manySmallArguments(s *scene) error {
	s.connect(9, func(conn net.Conn) {
		fmt.Fprint(conn, "*1000000\r\n")
		arguments(conn, 1_000_000)
	})
	return nil
}

func halfRequests(s *scene) error {
	s.connect(250, func(conn net.Conn) {
		fmt.Fprint(conn, "*10000\r\n")
		arguments(conn, 9_999)
	})
	return livesOn(s) // until the lab has read what the system has taken
}

func wideReply(s *scene) error {
	const text = "local wide = {} for i = 1, 200 do wide[i] = {} for j = 1, 1000 do wide[i][j] = j end end return wide"
	s.connect(9, func(conn net.Conn) { fmt.Fprint(conn, command("EVAL", text, "1", s.key)) })
	for _, conn := range s.open {
		await(conn)
	}
	return nil
}

func longChannels(s *scene) error {
	return converse(s.server, func(w io.Writer) {
		for i := range 100 {
			fmt.Fprint(w, command("SUBSCRIBE", fmt.Sprint(i, strings.Repeat("x", 1<<20))))
		}
	})
}

func endlessTransaction(s *scene) error {
	return converse(s.server, func(w io.Writer) {
		fmt.Fprint(w, command("MULTI"))
		repeat(w, s.deletes(), 1<<40)
	})
}

func unreadReplies(s *scene) error {
	s.connect(20, func(conn net.Conn) {
		fmt.Fprint(conn, command("EVAL", fmt.Sprintf("return string.rep(string.rep('x', 1000), %d)", most/1000), "0"))
		await(conn)
	})
	return nil
}

func manyConnections(s *scene) error {
	s.connect(300, func(conn net.Conn) {
		fmt.Fprint(conn, command("PING"))
		await(conn)
	})
	return nil
}

// deletes is a command whose record takes much of the history, where a byte that cannot be printed takes five.
func (s *scene) deletes() string {
	return command(append([]string{"DEL", s.key}, slices.Repeat([]string{strings.Repeat("\x00", 200)}, 60)...)...)
}

func pipeline(s *scene) error {
	return converse(s.server, func(w io.Writer) { repeat(w, s.deletes(), 1_000) })
}

func subscriptions(s *scene) error {
	return converse(s.server, func(w io.Writer) {
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, command("SUBSCRIBE", fmt.Sprintf("channel %d", i))); err != nil {
				return
			}
		}
	})
}
