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
		"history":           {},
		"internal/timeline": {own: []string{"history", "faults", "internal/timeline/ownership"}, pure: true, scripted: true},
		// The rules that checker and explorer share know neither's evidence.
		"internal/timeline/ownership": {own: []string{"history"}, pure: true, scripted: true},

		"impls":   {own: []string{"history"}, pure: true, scripted: true},
		"checker": {own: []string{"history", "faults", "internal/timeline", "internal/timeline/ownership", "checker/internal/list", "checker/internal/resource", "checker/internal/overlap", "checker/internal/second"}, pure: true},
		// The second judge: it reads a history apart from the timeline. Only what data says, both judges read alike.
		"checker/internal/list":     {pure: true, scripted: true},
		"checker/internal/resource": {own: []string{"history", "internal/timeline"}, pure: true, scripted: true},
		"checker/internal/overlap":  {own: []string{"history", "faults", "internal/timeline", "internal/timeline/ownership", "checker/internal/list", "checker/internal/resource"}, external: []string{"github.com/anishathalye/porcupine"}, pure: true, scripted: true},
		"checker/internal/second":   {own: []string{"history", "faults", "checker/internal/list", "checker/internal/overlap"}, external: []string{"github.com/anishathalye/porcupine"}, pure: true, scripted: true},
		// What a run leaves behind, for those who write, show and compare it.
		"internal/record": {own: []string{"checker", "history"}, pure: true, scripted: true},
		"internal/sim":    {own: []string{"history", "impls"}, external: []string{"github.com/yuin/gopher-lua"}, pure: true},
		// What a lock's code does after what it was given: it knows neither servers nor faults.
		"internal/sim/past": {own: []string{"history", "impls", "internal/answers", "internal/sim", "internal/worker/work"}, pure: true},
		// What a state remembers so as to suspect an anomaly: it does not know what a world is.
		"internal/sim/suspicion": {own: []string{"history", "checker"}, pure: true},
		"internal/sim/world":     {own: []string{"history", "faults", "impls", "checker", "internal/timeline/ownership", "internal/sim", "internal/sim/past", "internal/sim/suspicion", "internal/sim/trace"}, pure: true},
		// The search says how long it took.
		"internal/sim/search": {own: []string{"history", "faults", "impls", "checker", "internal/timeline/ownership", "internal/sim/suspicion", "internal/sim/trace", "internal/sim/world"}, pure: true, clock: true},
		"internal/sim/points": {own: []string{"faults", "impls", "checker", "internal/sim/search", "internal/sim/trace"}, pure: true},
		// A counterexample as data: its readers need not know how it was found.
		"internal/sim/trace": {own: []string{"history", "faults", "checker", "internal/sim"}, pure: true},

		"internal/worker/protocol": {own: []string{"history"}},
		"internal/worker/work":     {own: []string{"history", "internal/answers", "impls"}, pure: true},
		"internal/worker": {
			own:      []string{"history", "impls", "internal/answers", "internal/waiting", "internal/worker/protocol", "internal/worker/work"},
			external: []string{"github.com/redis/go-redis/v9", "github.com/go-zookeeper/zk"},
		},

		"faults":                   {},
		"internal/faults/resp":     {},
		"internal/faults/jute":     {},
		"internal/faults/lua":      {},
		"internal/faults/commands": {own: []string{"faults", "internal/faults/lua"}},
		"internal/faults/probe":    {own: []string{"history", "internal/faults/resp", "internal/faults/commands"}},
		"internal/faults/tap":      {own: []string{"history", "faults", "internal/faults/jute", "internal/faults/resp", "internal/faults/commands", "internal/faults/probe"}},
		"internal/faults/network":  {own: []string{"faults", "history"}, external: []string{"github.com/Shopify/toxiproxy/v2", "github.com/rs/zerolog", "golang.org/x/sys"}},
		// The hooks know no more of the lab than a page in memory.
		"internal/faults/clocks":         {},
		"internal/faults/process":        {own: []string{"history"}, external: []string{"golang.org/x/sys"}},
		"internal/faults/server":         {own: []string{"history"}},
		"internal/faults/server/daemon":  {own: []string{"internal/faults/network", "internal/faults/process"}},
		"internal/faults/server/address": {own: []string{"internal/faults/jute", "internal/faults/resp"}},
		// One for each kind of server: none knows another.
		"internal/faults/server/redis": {
			own:      []string{"faults", "internal/faults/network", "internal/faults/resp", "internal/faults/process", "internal/faults/server", "internal/faults/server/address", "internal/faults/server/daemon", "internal/redisclient"},
			external: []string{"github.com/alicebob/miniredis/v2", "github.com/redis/go-redis/v9"},
		},
		"internal/faults/server/zookeeper":  {own: []string{"faults", "internal/faults/jute", "internal/faults/network", "internal/faults/process", "internal/faults/server", "internal/faults/server/address", "internal/faults/server/daemon"}},
		"internal/faults/server/etcd":       {own: []string{"history", "internal/faults/process", "internal/faults/server", "internal/faults/server/daemon"}},
		"internal/faults/server/postgres":   {own: []string{"history", "internal/faults/process", "internal/faults/server", "internal/faults/server/daemon"}},
		"internal/faults/server/servertest": {own: []string{"internal/faults/process", "internal/needs"}, external: []string{"github.com/stretchr/testify", "go.uber.org/goleak"}, tests: true},

		"scenarios":               {own: []string{"history", "faults", "internal/spelling", "checker"}},
		"internal/scenarios/play": {own: []string{"history", "faults", "internal/faults/jute", "impls", "scenarios", "internal/worker/protocol"}},
		"internal/scenarios/live": {own: []string{
			"history", "faults", "internal/faults/clocks", "internal/faults/commands", "internal/faults/jute", "internal/faults/network", "internal/faults/process", "internal/faults/resp", "internal/faults/tap",
			"internal/faults/server", "internal/faults/server/address", "internal/faults/server/redis", "internal/faults/server/zookeeper",
			"scenarios", "internal/scenarios/live/clients", "internal/scenarios/live/ledger", "internal/scenarios/live/service", "internal/scenarios/live/stalls", "internal/scenarios/play", "internal/scenarios/storm", "internal/worker/protocol",
		}},
		"internal/scenarios/live/clients": {own: []string{"internal/faults/clocks", "internal/faults/process", "internal/worker/protocol"}},
		"internal/scenarios/live/ledger":  {own: []string{"internal/faults/commands", "internal/faults/process", "internal/faults/server/redis", "internal/faults/tap"}},
		"internal/scenarios/live/stalls":  {own: []string{"internal/faults/server"}},
		// The only one that knows every kind of server.
		"internal/scenarios/live/service": {own: []string{
			"history", "faults", "internal/faults/network", "internal/faults/process", "internal/faults/server", "internal/faults/server/etcd", "internal/faults/server/postgres", "internal/faults/server/redis",
			"internal/faults/server/zookeeper", "internal/faults/tap", "scenarios", "internal/scenarios/play", "internal/worker/protocol",
		}},
		"internal/scenarios/conform": {own: []string{"faults", "internal/scenarios/live", "internal/scenarios/play", "internal/worker/protocol"}},
		"internal/scenarios/sim": {own: []string{
			"internal/answers", "internal/waiting",
			"history", "faults", "internal/faults/commands", "internal/faults/jute", "internal/faults/probe", "internal/faults/resp", "impls", "scenarios", "internal/scenarios/play", "internal/sim",
			"internal/scenarios/sim/netconn", "internal/worker/protocol", "internal/worker/work",
		}},
		"internal/scenarios/sim/netconn": {own: []string{"internal/faults/resp", "internal/sim"}},
		"internal/scenarios/storm":       {own: []string{"history", "faults", "internal/spelling", "internal/timeline", "checker", "internal/record", "impls", "scenarios"}, pure: true},
		"internal/scenarios/reproduce":   {own: []string{"history", "faults", "internal/faults/commands", "internal/timeline", "internal/timeline/ownership", "impls", "checker", "internal/record", "scenarios", "internal/sim", "internal/sim/trace"}, pure: true},
		// What a measurement found, for those who show it.
		"internal/bench":         {pure: true, scripted: true},
		"internal/bench/measure": {own: []string{"internal/waiting", "internal/bench", "history", "impls", "internal/faults/process", "internal/faults/server", "internal/faults/server/etcd", "internal/faults/server/postgres", "internal/faults/server/redis", "internal/faults/server/zookeeper", "internal/worker", "internal/worker/work"}},

		"worker/client": {},
		"internal/kits": {own: []string{"worker/client"}},

		"examples/exercises": {},
		"internal/grade":     {own: []string{"checker", "examples/exercises", "internal/record", "scenarios"}},

		// The public library is thin: what it does, internal/lab does.
		"lab": {own: []string{"history", "faults", "impls", "checker", "internal/record", "scenarios", "internal/lab", "internal/scenarios/play", "internal/scenarios/reproduce", "internal/scenarios/storm", "internal/sim/search", "internal/sim/trace"}},
		"internal/lab": {own: []string{"faults",
			"internal/bench", "internal/bench/measure", "history", "impls", "checker", "internal/record", "internal/listing/golang", "internal/report", "internal/report/exploration", "internal/report/figures", "internal/report/format", "internal/report/outcome", "internal/report/page", "internal/report/rundir", "internal/story", "internal/worker",
			"scenarios", "internal/scenarios/conform", "internal/scenarios/live", "internal/scenarios/play", "internal/scenarios/reproduce", "internal/scenarios/sim", "internal/scenarios/storm",
			"internal/sim/search", "internal/sim/points", "internal/sim/trace", "internal/version",
		}},
		// It is in other people's go.mod: what it needs, they get. See TestLocktestIsLean.
		"locktest": {
			own: []string{
				"history", "impls", "checker", "internal/answers", "internal/findings", "internal/racing", "internal/record", "internal/report/diagram", "internal/report/page", "internal/report/rundir", "internal/spelling", "internal/story", "scenarios", "internal/scenarios/play", "internal/scenarios/sim", "internal/scenarios/storm",
				"internal/worker/protocol",
			},
			tests: true,
		},
		"internal/suite":   {own: []string{"internal/spelling"}, external: []string{"github.com/pelletier/go-toml/v2"}},
		"internal/compare": {own: []string{"checker", "internal/record"}, pure: true, scripted: true},
		"internal/export": {
			own: []string{"checker", "history", "internal/record", "internal/report/diagram", "internal/timeline"}, external: []string{"github.com/anishathalye/porcupine"}, pure: true, scripted: true,
		},
		// What others have recorded is judged as a run is, with the model of Redis in the place of its replies.
		"internal/recorded": {own: []string{"checker", "history", "internal/record", "internal/sim"}, pure: true, scripted: true},
		"internal/story":    {own: []string{"checker", "faults", "history", "internal/timeline"}, pure: true},
		"internal/findings": {own: []string{"checker", "internal/record"}, pure: true, scripted: true},
		// The reader parses Go, which a library's test does not need: whoever writes a page passes it.
		"internal/listing":        {own: []string{"history", "impls"}, pure: true, scripted: true},
		"internal/listing/golang": {own: []string{"history", "impls", "internal/listing"}, pure: true, scripted: true},
		// Reports: what several need is below, and what people read above it. The run's events pass through report itself.
		"internal/report/format":   {pure: true, scripted: true},
		"internal/report/terminal": {own: []string{"internal/report/format"}, external: []string{"golang.org/x/sys"}},
		"internal/report/outcome":  {own: []string{"checker", "internal/findings", "internal/record", "internal/report/format"}, pure: true, scripted: true},
		"internal/report/rundir":   {own: []string{"internal/record"}},
		"internal/report":          {own: []string{"internal/record", "internal/report/format", "internal/report/outcome"}},
		"internal/report/screen": {own: []string{
			"checker", "history", "internal/record", "internal/story",
			"internal/report", "internal/report/diagram", "internal/report/format", "internal/report/outcome", "internal/report/rundir", "internal/report/terminal",
		}},
		"internal/report/diagram": {own: []string{
			"checker", "faults", "history", "internal/record", "internal/story", "internal/timeline", "internal/report/format", "internal/report/outcome",
			// What a reader must know of a cell besides its history: the story of the scenario, and the idea of the lock.
			"impls", "scenarios",
		}, pure: true, scripted: true},
		"internal/report/exploration": {own: []string{"checker", "faults", "history", "internal/sim/trace", "internal/report/format", "internal/report/outcome"}, pure: true, scripted: true},
		"internal/report/figures":     {own: []string{"internal/bench", "internal/report/format", "internal/report/rundir", "internal/report/terminal"}},
		"internal/report/page": {own: []string{
			"checker", "faults", "history", "internal/record", "internal/story", "internal/timeline", "impls", "scenarios", "internal/listing", "internal/reasons",
			"internal/report/diagram", "internal/report/format", "internal/report/outcome", "internal/report/web", "internal/report/web/encode",
		}},
		"internal/report/reporttest": {own: []string{"checker", "history", "internal/record", "internal/report"}, external: []string{"github.com/stretchr/testify"}, tests: true},
		"internal/report/web":        {pure: true, scripted: true},
		"internal/report/web/encode": {own: []string{"history", "internal/timeline"}, pure: true, scripted: true},
		// It shows runs in a browser; how they are run, it is told.
		"internal/serve": {own: []string{"internal/lab", "internal/record", "internal/report", "internal/report/page", "internal/report/rundir", "internal/report/web"}},
		// The playground: what its page asks for, what carries the questions in a page, and what puts the page together.
		"web/internal/playground": {own: []string{
			"checker", "faults", "history", "impls", "internal/reasons", "internal/report/exploration", "internal/report/format", "internal/report/web/encode", "scenarios", "internal/scenarios/play", "internal/scenarios/sim", "internal/sim", "internal/sim/search", "internal/sim/points",
			"internal/sim/trace", "internal/story", "internal/timeline",
		}, pure: true, scripted: true},
		"web/wasm":            {own: []string{"internal/sim/search", "web/internal/playground"}},
		"web/build":           {own: []string{"internal/report/web", "web/internal/course"}},
		"web/internal/course": {pure: true, scripted: true},
		// The command only lists its commands. Each family of them is a package.
		"cmd/lab": {
			own: []string{
				"cmd/lab/internal/bench", "cmd/lab/internal/browse", "cmd/lab/internal/cli", "cmd/lab/internal/client", "cmd/lab/internal/explore", "cmd/lab/internal/look", "cmd/lab/internal/option", "cmd/lab/internal/run", "cmd/lab/internal/saved", "cmd/lab/internal/write",
				"impls", "internal/explain", "internal/lab", "internal/report/format", "internal/supervise", "internal/worker",
			},
			external: []string{"github.com/spf13/cobra"},
		},
		// What all share: how a command talks, what a user can name, and flags that several have. None of these knows a command.
		"cmd/lab/internal/cli": {
			own: []string{
				"internal/lab", "internal/record", "internal/report/format", "internal/report/terminal", "internal/spelling", "internal/supervise", "scenarios",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/naming": {
			own: []string{
				"cmd/lab/internal/cli",
				"checker", "history", "impls", "internal/explain", "internal/find", "internal/lab", "internal/record", "internal/report/rundir", "internal/scenarios/play", "internal/spelling", "internal/waiting", "scenarios",
			},
			external: []string{"github.com/spf13/cobra"},
		},
		"cmd/lab/internal/option": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming",
				"impls", "internal/faults/network", "internal/faults/server/address", "internal/faults/server/redis", "internal/lab", "internal/record", "internal/report", "internal/report/screen", "internal/scenarios/live", "internal/scenarios/play", "internal/waiting",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		// The families. Who shows saved runs shows names and tables of the explorer, too, and a browser orders runs.
		"cmd/lab/internal/run": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming", "cmd/lab/internal/option",
				"faults", "history", "impls", "internal/faults/server/address", "internal/lab", "internal/record", "internal/report", "internal/report/screen", "internal/scenarios/live", "internal/scenarios/play", "internal/scenarios/storm", "internal/suite", "scenarios",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/explore": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming", "cmd/lab/internal/option",
				"checker", "faults", "history", "impls", "internal/lab", "internal/record", "internal/report/exploration", "internal/report/format", "internal/report/rundir", "internal/report/terminal", "internal/scenarios/live", "internal/scenarios/reproduce", "internal/sim/points", "internal/sim/search", "internal/sim/trace", "scenarios",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/bench": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming", "cmd/lab/internal/option",
				"impls", "internal/bench", "internal/bench/measure", "internal/lab", "internal/report/figures", "internal/scenarios/play", "internal/waiting",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/saved": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/explore", "cmd/lab/internal/look", "cmd/lab/internal/naming", "cmd/lab/internal/option",
				"checker", "history", "impls", "internal/compare", "internal/export", "internal/lab", "internal/record", "internal/recorded", "internal/report/diagram", "internal/report/format", "internal/report/page", "internal/report/rundir", "internal/report/terminal", "internal/scenarios/live", "internal/scenarios/play", "internal/scenarios/storm", "scenarios",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/look": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming",
				"checker", "faults", "impls", "internal/adapters", "internal/explain", "internal/find", "internal/lab", "internal/reasons", "internal/record", "internal/report/diagram", "internal/report/format", "internal/report/rundir", "internal/scenarios/live", "internal/scenarios/play", "internal/sources", "scenarios",
			},
			external: []string{"github.com/spf13/cobra"},
		},
		"cmd/lab/internal/browse": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming", "cmd/lab/internal/option", "cmd/lab/internal/run", "cmd/lab/internal/saved",
				"impls", "internal/lab", "internal/report", "internal/report/figures", "internal/report/rundir", "internal/report/terminal", "internal/report/web", "internal/serve", "scenarios",
			},
			external: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		},
		"cmd/lab/internal/client": {
			own: []string{
				"cmd/lab/internal/cli", "cmd/lab/internal/naming", "cmd/lab/internal/option", "cmd/lab/internal/write",
				"checker", "impls", "internal/adapters", "internal/faults/network", "internal/faults/server/etcd", "internal/faults/server/postgres", "internal/faults/server/redis", "internal/faults/server/zookeeper", "internal/grade", "internal/kits", "internal/lab", "internal/record", "internal/report", "internal/report/format", "internal/scenarios/live", "internal/scenarios/play", "scenarios",
			},
			external: []string{"github.com/spf13/cobra"},
		},
		"cmd/lab/internal/write": {
			own: []string{
				"cmd/lab/internal/cli",
				"internal/faults/clocks", "internal/kits", "internal/report/format", "scenarios",
			},
			external: []string{"github.com/rogpeppe/go-internal/diff", "github.com/spf13/cobra"},
		},

		// Modules of their own, so that what they need stays out of this one's.
		"internal/adapters": {own: []string{"internal/faults/server/etcd", "internal/faults/server/postgres", "internal/faults/server/zookeeper"}},
		"adapters/go":       {own: []string{"worker/client"}, external: []string{"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/go-zookeeper/zk", "github.com/redis/go-redis/v9", "github.com/redis/rueidis"}},
		"adapters/etcd": {
			own:      []string{"history", "impls", "internal/worker", "internal/bench/measure"},
			external: []string{"go.etcd.io/etcd/client/v3", "go.etcd.io/etcd/api/v3", "go.uber.org/zap", "google.golang.org/grpc"},
		},

		"adapters/postgres": {own: []string{"history", "impls", "internal/worker", "internal/bench/measure"}, external: []string{"github.com/jackc/pgx/v5"}},

		"internal":             {},
		"internal/programs":    {own: []string{"impls"}, pure: true},
		"internal/answers":     {own: []string{"history", "impls"}, pure: true, scripted: true},
		"internal/sources":     {pure: true, scripted: true},
		"internal/spelling":    {pure: true, scripted: true},
		"internal/find":        {own: []string{"checker", "faults", "impls", "internal/sources", "internal/spelling", "scenarios", "internal/scenarios/play"}},
		"internal/reasons":     {own: []string{"checker", "impls", "internal/scenarios/play", "scenarios"}},
		"internal/explain":     {own: []string{"checker", "faults", "history", "impls", "internal/find", "internal/reasons", "internal/scenarios/play", "internal/scenarios/sim", "internal/scenarios/storm", "internal/record", "internal/sources", "internal/story", "scenarios"}},
		"internal/waiting":     {own: []string{"impls"}, pure: true, scripted: true},
		"internal/needs":       {own: []string{"internal/racing"}, tests: true},
		"internal/racing":      {},
		"internal/browser":     {own: []string{"internal/needs"}, tests: true},
		"internal/adaptertest": {own: []string{"internal/lab", "scenarios", "internal/scenarios/play"}, external: []string{"github.com/stretchr/testify"}, tests: true},
		"internal/hostile":     {own: []string{"internal/faults/resp", "impls", "internal/worker", "internal/worker/protocol"}},
		"internal/redisclient": {external: []string{"github.com/redis/go-redis/v9"}},
		"internal/version":     {},
		"internal/supervise":   {external: []string{"golang.org/x/sys"}},
		"internal/cmd/picture": {own: []string{"checker", "history", "internal/lab", "internal/record", "internal/report/diagram", "internal/report/format", "internal/report/screen", "internal/report/terminal", "internal/timeline"}},
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
