package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
)

// Workload is a kind of work under a lock: what the verb work does to data in a store.
type Workload struct {
	Name   history.Workload
	Idea   string
	Source string
}

// Workloads lists the kinds of work, the default first.
func Workloads() []Workload {
	return []Workload{
		{history.Counter, "read a counter, write it back one higher", ""},
		{history.Stock, "read the stock from the cache, write it to the database, update the cache", "article 003, W1; article 001"},
		{history.FlashSale, "take one from the stock in the process's own memory, count it as bought in the store", "article 000, W2, as published"},
		{history.FlashSaleStore, "the same with the stock in the store", "article 000, W2, mended"},
		{history.Ledger, "append an entry that carries the number of the one before", ""},
	}
}

// FindWorkload returns the workload of that name.
func FindWorkload(name history.Workload) (Workload, bool) {
	all := Workloads()
	at := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if at < 0 {
		return Workload{}, false
	}
	return all[at], true
}

// WorkloadNames are the names of all workloads.
func WorkloadNames() []string {
	var names []string
	for _, w := range Workloads() {
		names = append(names, string(w.Name))
	}
	return names
}

// The default and the bound of an initial stock.
const (
	defaultStock = 100
	maxStock     = 1_000_000
)

// Work is the workload of the script, a counter by default.
func (s *Script) Work() history.Workload {
	if s.Workload == "" {
		return history.Counter
	}
	return s.Workload
}

// Under is the script with the workload that the user chose. A script with a workload of its own keeps it.
func (s *Script) Under(work history.Workload) *Script {
	if s.Workload != "" || work == history.Counter {
		return s
	}
	changed := *s
	changed.Workload, changed.Stock, changed.WorkloadOverridden = work, defaultStock, true
	return &changed
}

// workload reads "stock" or "stock 1".
func (p *parser) workload(words []string) error {
	work, ok := FindWorkload(history.Workload(words[0]))
	if !ok {
		return unknownWord("workload", words[0], WorkloadNames())
	}
	p.script.Workload = work.Name
	if work.Name.Sells() {
		p.script.Stock = defaultStock
	}
	switch {
	case len(words) == 1:
		return nil
	case !work.Name.Sells() || len(words) > 2:
		return fmt.Errorf("%q is not understood after 'workload %s'", strings.Join(words[1:], " "), work.Name)
	}
	stock, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil || stock < 1 || stock > maxStock {
		return fmt.Errorf("%q is no stock; write a whole number from 1 to %d, as in 'workload %s 1'", words[1], maxStock, work.Name)
	}
	p.script.Stock = stock
	return nil
}

// workWords is the workload as scripts write it; empty if it is not the script's own.
func (s *Script) workWords() string {
	switch {
	case s.Workload == "" || s.WorkloadOverridden:
		return ""
	case s.Workload.Sells() && s.Stock != defaultStock:
		return fmt.Sprintf("%s %d", s.Workload, s.Stock)
	}
	return string(s.Workload)
}
