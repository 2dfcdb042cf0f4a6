// Package terminal finds out what the user's terminal can do, and draws a line of progress on it.
//
// It owns what is asked of the operating system. It must not know what is shown.
package terminal

import (
	"cmp"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/locklab/locklab/internal/report/format"
)

// Options say what the terminal can do and what its user wants.
type Options struct {
	// Prefix is how the user calls the lab: "lab", "go run ./cmd/lab". Commands to copy begin with it; empty means "lab".
	Prefix string
	// Width is the number of columns; zero means 80.
	Width int
	// Verbose lists every cell as it ends, with its anomalies.
	Verbose bool
	// Color allows colours on stdout. No meaning is carried by colour alone.
	Color bool
	// Bar draws progress on stderr as one line that is drawn over; otherwise a plain line is written now and then.
	Bar bool
	// Since is the time since the beginning; nil: by the clock, since the sink was made.
	Since func() time.Duration
}

// Detect finds out what stdout and stderr can do. It respects NO_COLOR, TERM=dumb and CI; getenv is os.Getenv. Prefix,
// Width and Verbose are left for the caller.
func Detect(stdout, stderr *os.File, getenv func(string) string) Options {
	dumb := getenv("TERM") == "dumb"
	return Options{
		Color: IsTerminal(stdout) && !dumb && getenv("NO_COLOR") == "",
		Bar:   IsTerminal(stderr) && !dumb && getenv("CI") == "",
	}
}

// IsTerminal says whether somebody may look at a file.
func IsTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Width is the number of columns that the user's COLUMNS names, or else the terminal of w has; getenv is os.Getenv.
func Width(w io.Writer, getenv func(string) string) int {
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := w.(*os.File); ok {
		return cmp.Or(columnsOf(file), format.UsualWidth)
	}
	return format.UsualWidth
}
