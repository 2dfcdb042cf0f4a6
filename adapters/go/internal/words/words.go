// Package words reads the command lines of clients: words, with or without a dash, for the options of a library that are not its default.
//
// It owns how a client is named after them. It must not know a library.
package words

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Set has a number for each word that was said: the one behind it, or 1.
type Set map[string]int

func (s Set) Has(word string) bool { return s[word] > 0 }

// Read reads the command line. The words become part of the client's name.
func Read(hello map[string]any, known ...string) Set {
	said, last, name, about := Set{}, "", "", ""
	for _, arg := range os.Args[1:] {
		word := strings.TrimLeft(arg, "-")
		switch number, err := strconv.Atoi(word); {
		case word == "option": // the next word is one
		case err == nil && last != "":
			said[last] = number
		case !slices.Contains(known, word):
			fmt.Fprintf(os.Stderr, "unknown word %q: there are %s\n", word, strings.Join(known, ", "))
			os.Exit(2)
		default:
			said[word], last = 1, word
			name += "-" + word
			about += ", " + word
		}
	}
	hello["name"], hello["about"] = fmt.Sprint(hello["name"], name), fmt.Sprint(hello["about"], about)
	hello["resends"] = !said.Has("once")
	return said
}
