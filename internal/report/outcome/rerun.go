package outcome

import (
	"slices"
	"strconv"
	"strings"
)

// WithSeed adds the seed that the run used, unless the command names one.
func WithSeed(args []string, seed int64) []string {
	named := slices.ContainsFunc(args, func(arg string) bool { return arg == "--seed" || strings.HasPrefix(arg, "--seed=") })
	if named {
		return args
	}
	return slices.Concat(args, []string{"--seed", strconv.FormatInt(seed, 10)})
}

// WithoutOut leaves out where the results went: no run writes over those of another.
func WithoutOut(args []string) []string { return Without(args, "--out") }

// Without leaves out a flag and its value.
func Without(args []string, flag string) []string {
	var out []string
	for i, arg := range args {
		value := i > 0 && args[i-1] == flag
		if !value && arg != flag && !strings.HasPrefix(arg, flag+"=") {
			out = append(out, arg)
		}
	}
	return out
}
