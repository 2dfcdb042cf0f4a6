package play

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
	"github.com/locklab/locklab/scenarios"
)

// The servers that some locks and scenarios need, by their names for --server.
const (
	OnReplicas  = "replicated"
	OnCluster   = "cluster"
	OnZooKeeper = "zookeeper"
	OnEnsemble  = "zookeeper-ensemble"
)

// What a lock lacks where the lock servers are of another kind than its service.
const (
	NeedsZooKeeper = "the lock needs a ZooKeeper (--server " + OnZooKeeper + ")"
	NeedsRedis     = "the lock does not run on a ZooKeeper"
	NeedsReplicas  = "only a server with replicas has that (--server " + OnReplicas + ")"
	NeedsEnsemble  = "only an ensemble has servers that elect a leader (--server " + OnEnsemble + ")"
	NeedsCluster   = "the lock needs a cluster (--server " + OnCluster + ")"
	NeedsSlots     = "only a cluster has slots that migrate (--server " + OnCluster + ")"
	NeedsProgram   = "the lock does not run on this server; give a client that does (--client)"
)

// ServesOthers says whether what is lacking is servers of another kind.
func ServesOthers(lacks string) bool {
	return slices.Contains([]string{NeedsZooKeeper, NeedsRedis, NeedsReplicas, NeedsEnsemble, NeedsCluster, NeedsSlots, NeedsProgram}, lacks)
}

// Limits are the capabilities that a world lacks, each with the reason.
type Limits map[faults.Capability]string

// Traits are the properties of a lock and its client that a script may need.
type Traits struct {
	Known   bool   // false: known only once a client runs
	NoClock string // why a client that cannot set its clock has one that cannot be set from outside, either
	Local   bool   // the lock lives in its client's process
	history.Contract
	// Opaque is the lock's service if the tap does not read what clients send to it; empty: the tap does.
	Opaque    string
	ZooKeeper bool // the lock's service is a ZooKeeper: it lasts as long as its client's session
	Replicas  bool // the lock waits for replicas
	Resends   protocol.Resends
	MinTry    time.Duration // how long the shortest try of an acquire takes: the library waits by itself
	Library   Library
	Servers   int      // number of lock servers; less than two: one
	Majority  bool     // a majority of them is enough
	Separate  bool     // each lock of a process has connections of its own
	Verbs     []string // the optional verbs of the protocol that the client knows
	// OneRequest are the operations, as the protocol calls them, that are one request to a server whose protocol the tap does not read.
	OneRequest []string
	Workloads  []string // the kinds of work that the client knows, beside a counter
	// Sends are the commands that operations may send, if known.
	Sends impls.Commands
}

// Library are the properties of what a client's lock is made of, or runs on.
type Library struct {
	// NoCancel: nothing ends an operation that waits, but the end of its connections.
	NoCancel bool
	// Ensemble: its service is one, of whose servers a script may speak.
	Ensemble bool
	// Slots: its keys are in slots of a cluster.
	Slots bool
	// Masters: its servers are the primaries of a cluster, with a key on each; see MasterTag.
	Masters bool
	// Sharded: it is kept on one of several servers, which its key decides.
	Sharded bool
}

// unseen says why no command of the lock is on record.
func (t Traits) unseen() history.Unseen {
	switch {
	case t.Local:
		return history.Local
	case t.Opaque != "":
		return history.Opaque
	}
	return 0
}

// Can says whether the client knows an optional verb.
func (t Traits) Can(verb string) bool { return slices.Contains(t.Verbs, verb) }

// Lack says what the lock, its client or the world lacks for a script, or "".
func (t Traits) Lack(script *scenarios.Script, world Limits) string {
	if why := t.lacksService(script); why != "" {
		return why
	}
	for _, step := range script.Steps {
		if why := needs(step, world); why != "" {
			return why
		}
	}
	if !t.Known {
		return ""
	}
	if script.Servers > 1 && t.Servers < 2 && !ofEnsemble(script) {
		return "the lock uses one server"
	}
	if script.Servers > 1 && t.Library.Sharded && !script.OnWhichever() {
		return "the lock is on one of its servers, and the script is for one that is on several"
	}
	for _, need := range script.Needs {
		if why := t.lackFor(need); why != "" {
			return why
		}
	}
	if work := script.Work(); work != history.Counter && !slices.Contains(t.Workloads, string(work)) {
		return lacksWork(work)
	}
	if len(script.Handles) > 0 && !t.Separate {
		return "the client's locks share connections"
	}
	return t.lackForSteps(script)
}

// lacksService says which service the lock or the script needs, and does not have, or "".
func (t Traits) lacksService(script *scenarios.Script) string {
	migrates := slices.ContainsFunc(script.Steps, func(step scenarios.Step) bool {
		fault, _ := step.Fault()
		return slices.Contains(fault.Needs, faults.Slots)
	})
	switch lib := t.Library; {
	case ofEnsemble(script) && !lib.Ensemble:
		return NeedsEnsemble
	case lib.Masters && !lib.Slots:
		return NeedsCluster
	case migrates && !lib.Slots:
		return NeedsSlots
	}
	return ""
}

// ofEnsemble says whether the servers of a script are those of an ensemble.
func ofEnsemble(script *scenarios.Script) bool {
	return slices.Contains(script.Needs, scenarios.NeedsEnsemble)
}

// MasterTag begins the key of a lock on the ith primary of a cluster.
func MasterTag(i int) string { return impls.MasterKey("", i) }

// lackForSteps says what the lock or its client lacks for one of the steps, or "".
func (t Traits) lackForSteps(script *scenarios.Script) string {
	limits := t.limits()
	for i, step := range script.Steps {
		if why := needs(step, limits); why != "" {
			return why
		}
		if verb := optional(step); verb != "" && !t.Can(verb) {
			return without[verb]
		}
		if step.Verb == scenarios.VerbGiveUp && t.Library.NoCancel && disturbed(script.Steps[:i]) {
			return "the client cannot cancel while its links are disturbed"
		}
		if step.Verb == scenarios.VerbSplit && t.Servers > 1 {
			return "the lock is on several servers, and the script splits one"
		}
		if fault, _ := step.Fault(); fault.Kind == faults.SlotMigration && t.Servers > 1 {
			return "the lock is on several servers, and the script migrates the slot of one key"
		}
		if what := t.unsent(step); what != "" {
			return fmt.Sprintf("its %v sends no %s", step.Op, what)
		}
	}
	return ""
}

// disturbed says whether the links of a client may have a fault after some steps.
func disturbed(steps []scenarios.Step) bool {
	for _, step := range slices.Backward(steps) {
		if fault, ok := step.Fault(); ok && fault.Target == faults.OnLink {
			return true
		}
		if step.Verb == scenarios.VerbHeal {
			return false
		}
	}
	return false
}

// needs says why limits rule out a fault of a step, or "".
func needs(step scenarios.Step, limits Limits) string {
	var needed []faults.Capability
	if fault, ok := step.Fault(); ok {
		needed = fault.Needs
	}
	for _, at := range step.Breakpoints {
		if at.Action != faults.ActDropReply { // that leaves it to the script to have the client connect again
			needed = append(needed, at.Action.Kind().Of().Needs...)
		}
	}
	for _, capability := range needed {
		if why := limits[capability]; why != "" {
			return why
		}
	}
	return ""
}

// optional is the optional verb of the protocol that carries out the step itself, or "".
func optional(step scenarios.Step) string {
	switch {
	case step.Op == history.OpRenew:
		return protocol.Renew
	case step.Op == history.OpCheck:
		return protocol.Check
	case step.Verb == scenarios.VerbTakesIn:
		return protocol.Idle
	}
	return ""
}

// limits are the capabilities that the lock or its client lacks.
func (t Traits) limits() Limits {
	limits := Limits{}
	if t.Local {
		limits[faults.ServerState] = "the lock has no state on a server"
	}
	if !t.Can(protocol.Skew) {
		limits[faults.SetClock] = without[protocol.Skew]
		if t.NoClock != "" {
			limits[faults.SetClock] += ": " + t.NoClock
		}
	}
	if !t.Can(protocol.Reconnect) {
		limits[faults.Reconnect] = without[protocol.Reconnect]
	}
	return limits
}

// unsent is the command of a breakpoint that the step's operation never sends, or "".
func (t Traits) unsent(step scenarios.Step) string {
	sent, known := t.Sends[step.Op]
	for _, at := range step.Breakpoints {
		named := at.Match.Kind == faults.MatchCommand
		if known && (len(sent) == 0 || named && !slices.Contains(sent, at.Match.Command)) {
			return at.Match.String()
		}
	}
	return ""
}

// lacksWork says that a client does not know a kind of work.
func lacksWork(work history.Workload) string {
	return fmt.Sprintf("the client does not know the work %q", work)
}

// without are the consequences of an optional verb that a client does not know.
var without = map[string]string{
	protocol.Renew:     "the lock has no renew operation",
	protocol.Check:     "the lock has no check operation",
	protocol.Skew:      "the client's clock cannot be set",
	protocol.Reconnect: "the client cannot reconnect on request",
	protocol.Idle:      "the client cannot say when it has taken in a reply",
}

// lackFor says why the lock does not meet a need of a script, or "".
func (t Traits) lackFor(need scenarios.Need) string {
	again := "the client library resends commands"
	if t.Resends == protocol.ResendsBroken {
		again += " when a connection ends"
	}
	lacks := map[scenarios.Need]struct {
		lacking bool
		why     string
	}{
		scenarios.NeedsService:    {t.Local, "the lock is in the memory of one process"},
		scenarios.NeedsEnsemble:   {!t.Library.Ensemble, NeedsEnsemble},
		scenarios.NeedsZooKeeper:  {!t.ZooKeeper, "the lock is on no ZooKeeper"},
		scenarios.NeedsAsynchrony: {t.Replicas, "the lock is not granted before a replica has it"},
		scenarios.NeedsMajority:   {!t.Majority, "a majority of servers is not enough for the lock"},
		scenarios.NeedsLease:      {t.Leaseless, "the lock has no lease"},
		scenarios.NeedsRenewal:    {!t.Renews, "the lock does not renew itself"},
		scenarios.NeedsResend:     {t.Resends == protocol.ResendsNothing, "the client library resends nothing"},
		scenarios.NeedsNoResend:   {t.Resends != protocol.ResendsNothing, again},
		scenarios.NeedsReentrance: {!t.Reentrant, "the lock is not reentrant"},
		scenarios.NeedsFairness:   {!t.Fair, "the lock does not promise fairness"},
		scenarios.NeedsCheck:      {!t.Can(protocol.Check), without[protocol.Check]},
		scenarios.NeedsRenew:      {!t.Can(protocol.Renew), without[protocol.Renew]},
	}
	if lack := lacks[need]; lack.lacking {
		return lack.why
	}
	return ""
}

// ServerNames are the names of a cell's lock servers, whose number the script or else the lock sets.
func ServerNames(script *scenarios.Script, traits Traits) []string {
	n := cmp.Or(script.Servers, traits.Servers)
	switch {
	case traits.ZooKeeper:
		return []string{"zookeeper"}
	case traits.Opaque != "":
		return []string{traits.Opaque}
	case n < 2:
		return []string{"redis"}
	}
	return scenarios.ServerNames(n)
}
