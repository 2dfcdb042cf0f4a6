package explore

import (
	"errors"
	"strconv"
	"strings"
)

var errNotPositive = errors.New("it must be more than zero")

// positive reads a number of one or more.
func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n < 1 {
		err = errNotPositive
	}
	return n, err
}

// bytesOf reads an amount of memory: 4GiB, 512MiB, or bytes.
func bytesOf(text string) (int, error) {
	for unit, shift := range map[string]int{"GiB": 30, "MiB": 20, "KiB": 10} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := positive(digits)
			return n << shift, err
		}
	}
	return positive(text)
}
