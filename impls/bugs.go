package impls

import (
	"slices"
	"strings"
)

// Bug is one of several bugs of a published lock. A name selects them: the lock "getset-published/local-check" has this one only,
// "getset-published/local-check+lost-retry" has two.
type Bug struct {
	Name string
	What string // in one line
	// Apart: the bug is on only if its name is selected, because it hides the others, depends on chance, or exceeds a scenario's time.
	Apart bool
}

// bugs are the names of a lock's active bugs.
type bugs []string

// shownBy are the bugs that the options select, or else all but those Apart.
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

// Lookup finds a lock by its name among specs. A slash and the names of bugs may follow the name.
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

// only is the lock with the chosen bugs only; false if it does not have them all.
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
