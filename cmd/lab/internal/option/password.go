package option

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/faults/server/redis"
)

// The variables about the server at an address.
const (
	serverVar       = "LOCKLAB_SERVER"
	passwordVar     = "LOCKLAB_PASSWORD"
	passwordFileVar = "LOCKLAB_PASSWORD_FILE"
)

// HidePassword moves a password out of the URL of a server, in arguments or in the environment, into passwordVar: what a process was called with stands
// in lists of processes, on screens and in results. It says so once: the command that was typed in is in the list for as long as it lasts.
func HidePassword(args []string, stderr io.Writer) error {
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case joined && flag == "--server":
		case i > 0 && args[i-1] == "--server":
			flag, value, joined = "", arg, false
		default:
			continue
		}
		without, password, has := redis.SplitPassword(value)
		if !has {
			continue
		}
		if args[i] = without; joined {
			args[i] = flag + "=" + without
		}
		if err := os.Setenv(passwordVar, password); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "lab: the password in --server can be read in the list of processes; set %s or give --password-file\n", passwordVar)
	}
	without, password, has := redis.SplitPassword(os.Getenv(serverVar))
	if !has {
		return nil
	}
	if err := os.Setenv(serverVar, without); err != nil || os.Getenv(passwordVar) != "" {
		return err
	}
	return os.Setenv(passwordVar, password)
}

// ForgetPassword keeps the processes that the lab starts from inheriting the password. The flags have read it by then.
func ForgetPassword() error { return os.Unsetenv(passwordVar) }

// longestPassword bounds a file with a password, in bytes.
const longestPassword = 4 << 10

// readPassword reads the password in a file, without the end of its line.
func readPassword(path string) (redis.Secret, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", cli.Usagef("--password-file: %v", cli.Plainly(err))
	case !info.Mode().IsRegular():
		return "", cli.Usagef("--password-file: %s: not a regular file", path)
	case info.Size() > longestPassword:
		return "", cli.Usagef("--password-file: %s: more than %d bytes; it holds the password in one line", path, longestPassword)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", cli.Usagef("--password-file: %v", cli.Plainly(err))
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return "", cli.Usagef("--password-file: %s: not one line with a password", path)
	}
	return redis.Secret(password), nil
}
