package recorded

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/locklab/locklab/checker"
)

// command is a line of MONITOR.
type command struct {
	Line
	at   time.Duration // since 1970
	db   string
	conn string // the address of the connection; "lua": a script sent it
	args []string
}

// Monitor judges the output of redis-cli MONITOR: whose lock it was, by the commands and the model of Redis, and who removed, prolonged or replaced another's.
func Monitor(r io.Reader, file string, opts Options) (*Judgement, error) {
	var all []command
	last := time.Duration(0)
	err := lines(r, file, func(number int, text string) error {
		if text == "OK" { // the answer to MONITOR itself
			return nil
		}
		c, err := parseMonitor(text)
		if err != nil {
			return err
		}
		if c.at < last {
			return errors.New("its time is before that of the line above; MONITOR of several servers cannot be judged as one")
		}
		last = c.at
		c.Number = number
		all = append(all, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &InputError{file, 0, errNothing}
	}
	j := newJudgement(file, "monitor", checker.WrongfulDelete, checker.WrongfulRenew, checker.Overwrite)
	j.Because = "MONITOR shows commands, not replies, and not what a client believes"
	j.Lines, j.Lasted = len(all), last-all[0].at
	r2 := newReplay(all, opts.Locks)
	for i := range all {
		r2.command(&all[i])
	}
	r2.finish(j)
	j.judge(r2.parts, opts)
	return j, nil
}

var errMonitor = errors.New(`not a line of MONITOR, such as: 1339518083.107412 [0 127.0.0.1:60866] "set" "k" "v" "NX" "PX" "1000"`)

// parseMonitor reads a line.
func parseMonitor(text string) (c command, err error) {
	c.Text = text
	stamp, rest, ok := strings.Cut(text, " [")
	if !ok {
		return c, errMonitor
	}
	if c.at, err = parseStamp(stamp); err != nil {
		return c, err
	}
	from, quoted, ok := strings.Cut(rest, "] ")
	if !ok {
		return c, errMonitor
	}
	if c.db, c.conn, ok = strings.Cut(from, " "); !ok || c.conn == "" {
		return c, errMonitor
	}
	if _, err := strconv.ParseUint(c.db, 10, 31); err != nil {
		return c, errMonitor
	}
	c.args, err = parseArgs(quoted)
	return c, err
}

// parseStamp reads seconds since 1970 with at most nine decimals, exactly.
func parseStamp(text string) (time.Duration, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || len(fraction) > 9 {
		return 0, errMonitor
	}
	nanos, err := strconv.ParseUint(fraction+strings.Repeat("0", 9-len(fraction)), 10, 32)
	if err != nil {
		return 0, errMonitor
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), nil
}

// parseArgs reads quoted words with a blank between them.
func parseArgs(text string) (args []string, err error) {
	for {
		arg, rest, err := parseQuoted(text)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if rest == "" {
			return args, nil
		}
		if rest[0] != ' ' {
			return nil, fmt.Errorf("%q where a blank should be; %w", rest[0], errMonitor)
		}
		text = rest[1:]
	}
}

// parseQuoted reads a word as Redis prints it: \n, \r, \t, \a, \b, \", \\ and \xHH.
func parseQuoted(text string) (word, rest string, err error) {
	if text == "" || text[0] != '"' {
		return "", "", errMonitor
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(text):
			return "", "", errMonitor
		case text[i+1] == 'x':
			if i+4 > len(text) {
				return "", "", errMonitor
			}
			n, err := strconv.ParseUint(text[i+2:i+4], 16, 8)
			if err != nil {
				return "", "", fmt.Errorf("%q is no byte; %w", text[i:i+4], errMonitor)
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			i++
			b.WriteByte(unescaped(text[i]))
		}
	}
	return "", "", fmt.Errorf("a word has no end; %w", errMonitor)
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	}
	return c
}
