package impls

import (
	"slices"
	"strings"
)

// Bug is one of several bugs of a published lock, which can be shown alone: the lock "getset-published/local-check" has this one
// only, "getset-published/local-check+lost-retry" has two.
type Bug struct {
	Name string
	What string // in one line
	// Apart: it is shown only where it is asked for, because it hides the others, strikes by chance, or leaves a scenario no time.
	Apart bool
}

// bugs are the names of the bugs that a lock shows.
type bugs []string

// shownBy are the bugs that the options ask for, or else those that the lock has by default.
func shownBy(opts Options, all []Bug) bugs {
	if opts.Bugs != nil {
		return opts.Bugs
	}
	var names bugs
	for _, bug := range all {
		if !bug.Apart {
			names = append(names, bug.Name)
		}
	}
	return names
}

func (b bugs) has(name string) bool { return slices.Contains(b, name) }

// Lookup finds a lock by its name among specs; a name may go on with a slash and the bugs that it is to show.
func Lookup(specs []Spec, name string) (Spec, bool) {
	name, chosen, choice := strings.Cut(name, "/")
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	if !choice {
		return specs[i], true
	}
	return specs[i].only(strings.Split(chosen, "+"))
}

// only is the lock with no other bugs than the chosen ones; false if it does not have them all.
func (s Spec) only(chosen []string) (Spec, bool) {
	var what []string
	for _, name := range chosen {
		i := slices.IndexFunc(s.Bugs, func(b Bug) bool { return b.Name == name })
		if i < 0 {
			return Spec{}, false
		}
		what = append(what, s.Bugs[i].What)
	}
	s.Name += "/" + strings.Join(chosen, "+")
	s.Bug = strings.Join(what, "; ")
	open := s.New
	s.New = func(env Env, opts Options) Lock {
		opts.Bugs = chosen
		return open(env, opts)
	}
	return s, true
}
