// Package archtest checks the rules of the code: which package may import which, and which may read a clock. It has tests
// only. ARCHITECTURE.md draws the same arrows and gives the reasons.
package archtest

const module = "github.com/locklab/locklab"

// rule says what the production code below one directory may use beside the standard library and itself. Test files are
// free: the runner's tests, for example, start real clients.
type rule struct {
	own      []string // directories of this module
	external []string // modules of others
	pure     bool     // neither a network, nor a clock, nor the operating system
	clock    bool     // but a clock
	tests    bool     // it is for tests: it may import testing
	scripted bool     // pure, and a function of its inputs: no goroutine and no chance of its own
}

// rules are the arrows. A directory that is not listed belongs to its nearest listed ancestor, and one without such an
// ancestor is an error: a new package has to say where it stands.
func rules() map[string]rule {
	return map[string]rule{
		"history":  {},
		"timeline": {own: []string{"history", "faults", "timeline/ownership"}, pure: true, scripted: true},
		// The rules that checker and explorer share know neither's evidence.
		"timeline/ownership": {own: []string{"history"}, pure: true, scripted: true},

		"impls":   {own: []string{"history"}, pure: true, scripted: true},
		"checker": {own: []string{"history", "faults", "timeline", "timeline/ownership"}, external: []string{"github.com/anishathalye/porcupine"}, pure: true},
		"sim":     {own: []string{"history", "impls", "checker"}, external: []string{"github.com/yuin/gopher-lua"}, pure: true},
		// The explorer says how long it took, and does not wait for ever for a lock that does not come back.
		"sim/explore": {own: []string{"history", "timeline/ownership", "faults", "impls", "checker", "sim", "sim/trace", "worker/work"}, pure: true, clock: true},
		// The slow reference search shares nothing with the explorer but what it searches, and who judges it.
		"sim/reference":         {own: []string{"history", "faults", "impls", "checker", "timeline/ownership", "sim", "worker/work"}, pure: true},
		"sim/reference/compare": {own: []string{"faults", "impls", "checker", "sim/explore", "sim/reference"}, pure: true},
		"sim/points":            {own: []string{"faults", "impls", "checker", "sim/explore", "sim/trace"}, pure: true},
		// A counterexample as data: its readers need not know how it was found.
		"sim/trace": {own: []string{"history", "faults", "checker", "sim"}, pure: true},

		"worker/protocol": {own: []string{"history"}},
		"worker/work":     {own: []string{"history", "impls"}, pure: true},
		"worker": {
			own:      []string{"history", "impls", "worker/protocol", "worker/work"},
			external: []string{"github.com/redis/go-redis/v9", "github.com/go-zookeeper/zk"},
		},

		"faults":          {},
		"faults/resp":     {},
		"faults/jute":     {},
		"faults/lua":      {},
		"faults/commands": {own: []string{"faults", "faults/lua"}},
		"faults/probe":    {own: []string{"history", "faults/resp", "faults/commands"}},
		"faults/tap":      {own: []string{"history", "faults", "faults/jute", "faults/resp", "faults/commands", "faults/probe"}},
		"faults/network":  {own: []string{"faults", "history"}, external: []string{"github.com/Shopify/toxiproxy/v2", "github.com/rs/zerolog", "golang.org/x/sys"}},
		// The hooks know no more of the lab than a page in memory.
		"faults/clocks":  {},
		"faults/process": {own: []string{"history"}, external: []string{"golang.org/x/sys"}},
		"faults/server": {
			own:      []string{"history", "faults", "faults/jute", "faults/network", "faults/resp", "faults/process", "internal/redisclient"},
			external: []string{"github.com/alicebob/miniredis/v2", "github.com/redis/go-redis/v9"},
		},

		"scenarios":      {own: []string{"history", "faults", "checker"}},
		"scenarios/play": {own: []string{"history", "faults", "faults/jute", "impls", "scenarios", "worker/protocol"}},
		"scenarios/live": {own: []string{
			"history", "faults", "faults/clocks", "faults/commands", "faults/jute", "faults/network", "faults/process", "faults/resp", "faults/server", "faults/tap",
			"scenarios", "scenarios/play", "scenarios/storm", "worker/protocol",
		}},
		"scenarios/conform": {own: []string{"faults", "scenarios/live", "scenarios/play", "worker/protocol"}},
		"scenarios/sim": {own: []string{
			"history", "faults", "faults/commands", "faults/jute", "faults/probe", "faults/resp", "impls", "scenarios", "scenarios/play", "sim",
			"worker/protocol", "worker/work",
		}},
		"scenarios/storm":     {own: []string{"history", "faults", "timeline", "checker", "impls", "scenarios"}, pure: true},
		"scenarios/reproduce": {own: []string{"history", "faults", "faults/commands", "timeline", "timeline/ownership", "impls", "checker", "scenarios", "sim", "sim/trace"}, pure: true},
		// What a measurement found, for those who show it.
		"bench":         {pure: true, scripted: true},
		"bench/measure": {own: []string{"bench", "history", "impls", "faults/process", "faults/server", "worker", "worker/work"}},

		"worker/client": {},
		"kits":          {own: []string{"worker/client"}},

		"lab": {own: []string{
			"bench", "bench/measure", "history", "impls", "checker", "report", "worker",
			"scenarios", "scenarios/conform", "scenarios/live", "scenarios/play", "scenarios/reproduce", "scenarios/sim", "scenarios/storm",
			"sim/explore", "sim/points", "sim/trace",
		}},
		"locktest": {
			own: []string{
				"history", "impls", "checker", "lab", "report", "scenarios", "scenarios/play", "scenarios/sim", "scenarios/storm", "worker/protocol",
			},
			external: []string{"github.com/redis/go-redis/v9"},
			tests:    true,
		},
		"report": {own: []string{"bench", "history", "faults", "timeline", "checker", "sim/trace"}},
		"cmd/lab": {
			own: []string{
				"adapters", "history", "kits", "lab", "scenarios", "scenarios/live", "scenarios/play", "scenarios/storm", "worker", "report",
				// The nouns that it passes from one to the other, and what its doctor looks at.
				"bench", "bench/measure", "impls", "checker", "faults", "faults/clocks", "faults/server", "faults/network",
				// The explorer needs no runner: the command starts it, shows what it tells, and has it written as a script.
				"sim/explore", "sim/points", "sim/trace", "scenarios/reproduce",
				"internal/supervise",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys"},
		},

		// Modules of their own, so that what they need stays out of this one's.
		"adapters":    {own: []string{"faults/server"}},
		"adapters/go": {own: []string{"worker/client"}, external: []string{"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/go-zookeeper/zk", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"}},
		"adapters/etcd": {
			own:      []string{"impls", "worker", "bench/measure"},
			external: []string{"go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/api/v3", "go.uber.org/zap", "google.golang.org/grpc"},
		},

		"adapters/postgres": {own: []string{"impls", "worker", "bench/measure"}, external: []string{"github.com/jackc/pgx/v5"}},

		"internal":               {},
		"internal/needs":         {tests: true},
		"internal/adaptertest":   {own: []string{"lab", "scenarios", "scenarios/play"}, external: []string{"github.com/stretchr/testify"}, tests: true},
		"internal/hostile":       {own: []string{"faults/resp", "impls", "worker", "worker/protocol"}},
		"internal/redisclient":   {external: []string{"github.com/redis/go-redis/v9"}},
		"internal/supervise":     {external: []string{"golang.org/x/sys"}},
		"internal/cmd/reference": {own: []string{"checker", "faults", "impls", "sim/reference/compare"}},
	}
}

// clockFuncs are the functions of package time that read or wait for a clock. Its types and arithmetic are open to all.
func clockFuncs() []string {
	return []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
}

// deadlineFuncs are the functions of package context that start a timer.
func deadlineFuncs() []string {
	return []string{"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"}
}
