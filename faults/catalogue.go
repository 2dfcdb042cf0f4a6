// Package faults is the catalogue of faults: what each is called in scripts, histories, storms and searches, what it hits, how long it
// lasts, and what a world must be able to do for it. Everything else looks that up here.
//
// It also owns the nouns that fault injection shares: Breakpoint, Direction and LinkFault. It causes no fault: the packages below it (tap,
// network, process, server) and the model do. It must not know a lock, a script or a history.
//
// To add a fault, add a Kind and its entry in All, then one function for each world: CONTRIBUTING.md.
package faults

import (
	"slices"
	"time"
)

// Kind is a kind of fault, by the name that histories and reports use.
type Kind string

// The kinds.
const (
	Pause         Kind = "pause"
	Crash         Kind = "crash"
	ThreadDeath   Kind = "thread-death"
	LongHold      Kind = "long-hold"
	Partition     Kind = "partition"
	Refuse        Kind = "refuse"
	Delay         Kind = "delay"
	ReplyLost     Kind = "reply-lost"
	HoldRequest   Kind = "hold"
	HoldReply     Kind = "hold-reply"
	LateRequest   Kind = "late-request"
	Duplicate     Kind = "duplicate"
	HoldCopy      Kind = "hold-copy"
	Skew          Kind = "skew"
	ClockAhead    Kind = "clock-ahead"
	ClockBehind   Kind = "clock-behind"
	StepAhead     Kind = "step-ahead"
	StepBack      Kind = "step-back"
	ClockJump     Kind = "clock-jump"
	ClockBack     Kind = "clock-back"
	Restart       Kind = "restart"
	FailOver      Kind = "fail-over"
	TakeOver      Kind = "take-over"
	SplitBrain    Kind = "split-brain"
	Down          Kind = "down"
	Isolated      Kind = "isolated"
	SlowServer    Kind = "slow-server"
	SlotMigration Kind = "slot-migration"
	Operator      Kind = "operator"
	Stall         Kind = "stall"
)

// Target is what a fault hits.
type Target uint8

// The targets.
const (
	OnProcess Target = iota + 1 // a client's process, with every lock in it
	OnClient                    // one user of a lock
	OnClock                     // a client's clock
	OnLink                      // a client's links to lock servers
	OnMessage                   // one request or reply on the wire
	OnServer                    // a server
	OnHost                      // the machine that the lab runs on; never caused by the lab
)

// Capability is something that a world, a server or a client must be able to do for a fault.
type Capability string

// The capabilities.
const (
	ServerState Capability = "server-state" // the lock has state on a server
	ServerStop  Capability = "server-stop"  // the server can be restarted
	ServerCopy  Capability = "server-copy"  // the server can save its data, and restart with it
	Replicas    Capability = "replicas"     // the server has several replicas, of which each can be held back or promoted
	Ensemble    Capability = "ensemble"     // the servers elect a leader, and each can be cut off from the others
	Slots       Capability = "slots"        // keys are in slots of a cluster, which can migrate to another primary
	SetClock    Capability = "set-clock"    // the client's clock can be set
	Reconnect   Capability = "reconnect"    // the client can be told to connect again
	Repeat      Capability = "repeat"       // a request can arrive a second time
)

// Argument is what scripts say after the words that begin a fault.
type Argument uint8

// The arguments.
const (
	TakesNothing   Argument = iota
	TakesSpan               // a length of time
	TakesJump               // a length of time, or "back" and one
	TakesAge                // how old a copy is at least, or nothing
	TakesReplica            // which replica
	TakesClients            // which clients
	TakesSetting            // of a clock
	TakesDirection          // of a link's traffic, or nothing: both
)

// Place is where scripts have a fault of a server strike.
type Place uint8

// The places.
const (
	AnyServer  Place = iota // all servers at once, or one that is named
	AllServers              // all at once
	OneServer               // one that is named
)

// Fault is an entry of the catalogue.
type Fault struct {
	Kind     Kind
	Recorded Kind // the kind under which histories record it
	Target   Target
	// OneShot: the fault is over at once. Any other is injected, takes effect and ends.
	OneShot bool
	Begins  string   // the script verb that begins it; empty: none
	Ends    string   // the script verb that ends it
	Also    []string // further script verbs, which prepare it or are a form of it
	Takes   Argument // after Begins
	// Most is the longest time that a script may say; zero: a day.
	Most   time.Duration
	Toward string   // in scripts the word between a fault of a link and its servers
	Place  Place    // of a fault of a server
	Flag   string   // of lab explore; empty: not searched
	Old    []string // former names, still read
	// Breaks: the fault of a server breaks its connections, and clients connect again.
	Breaks bool
	// Keeps: what the server holds, and for how long, stays as it is.
	Keeps bool
	// Withholds: it keeps replies from a client for as long as it lasts. The client gets them afterwards.
	Withholds bool
	// Long: to cause or to end it takes long on any host.
	Long bool
	// Mild: a script need not end it.
	Mild bool
	// Told, Seen and Over are what histories say when a fault of a server is injected, has been observed to take effect, and to end; %v is the length
	// of time that it takes. A world may say more of what it has observed.
	Told, Seen, Over string
	// State is the state of its target while the fault lasts: "paused".
	State string
	// Sign marks its target in lab explain.
	Sign    byte
	Meaning string
	Needs   []Capability
}

// All lists the catalogue in the order in which a reader should meet it.
func All() []Fault {
	all := []Fault{
		{Kind: Pause, Target: OnProcess, Begins: "pause", Ends: "resume", Flag: "pauses", State: "paused", Sign: 'z',
			Withholds: true, Meaning: "a client's process is stopped (SIGSTOP) while time passes"},
		{Kind: LongHold, Target: OnClient, OneShot: true, Flag: "long-holds", Old: []string{"overwork", "overworks"}, State: "in a long critical section",
			Meaning: "a client works for longer than its lease, while its background tasks go on"},
		{Kind: Crash, Target: OnProcess, OneShot: true, Begins: "crash", Flag: "crashes", State: "dead", Sign: 'x',
			Meaning: "a client's process is killed (SIGKILL)"},
		{Kind: ThreadDeath, Target: OnClient, OneShot: true, Begins: "thread dies", State: "thread dead", Sign: 'x',
			Meaning: "the thread that uses the lock ends; the process and its background tasks live on"},
		{Kind: Partition, Target: OnLink, Begins: "cut off", Ends: "heal", Flag: "partitions", State: "cut off", Sign: '/',
			Takes: TakesDirection, Toward: "from", Withholds: true, Meaning: "a client's link holds requests, replies or both until it is healed"},
		{Kind: Refuse, Target: OnLink, Begins: "refuse", Ends: "heal", State: "refused", Sign: '/', Needs: []Capability{Reconnect},
			Meaning: "a client's connections break, and new ones are refused"},
		{Kind: Delay, Target: OnLink, Begins: "delay", Ends: "heal", State: "slow link", Sign: '~',
			Takes: TakesSpan, Most: 10 * time.Second, Toward: "to", Mild: true, Withholds: true, Meaning: "a client's link is slow"},
		{Kind: ReplyLost, Target: OnLink, Begins: "lose replies", Ends: "heal", Flag: "lost-replies", Old: []string{"lost-reply"}, State: "replies lost", Sign: '/',
			Needs: []Capability{Reconnect}, Toward: "from", Meaning: "a request is carried out, and its reply is lost"},
		{Kind: HoldRequest, Target: OnMessage, Begins: "hold before", Ends: "continue", State: "request held on the wire", Sign: ':',
			Meaning: "a request is held before it reaches the server"},
		{Kind: HoldReply, Target: OnMessage, Begins: "hold reply of", Ends: "continue", State: "reply held on the wire", Sign: ':',
			Withholds: true, Meaning: "a reply is held before it reaches the client"},
		{Kind: LateRequest, Recorded: HoldRequest, Target: OnMessage, Flag: "late-requests", State: "request late",
			Meaning: "a request is given up by its client, and arrives later"},
		{Kind: Duplicate, Target: OnMessage, OneShot: true, Begins: "duplicate", Flag: "duplicates", State: "request sent twice", Sign: ':',
			Needs:   []Capability{Repeat},
			Meaning: "a request arrives a second time"},
		{Kind: HoldCopy, Target: OnMessage, Begins: "hold copy of", Ends: "arrives late", State: "copy held on the wire", Sign: ':',
			Needs:   []Capability{Repeat},
			Meaning: "a second copy of a request is held, and arrives later"},
		{Kind: Skew, Target: OnClock, Begins: "clock", Ends: "clock right", Old: []string{"clock"}, State: "clock wrong", Sign: '~', Needs: []Capability{SetClock},
			Takes: TakesSetting, Meaning: "a client's clock is ahead, behind, or runs at another rate"},
		{Kind: ClockAhead, Recorded: Skew, Target: OnClock, Flag: "clocks-ahead", State: "clock wrong", Meaning: "a client's clock is ahead"},
		{Kind: ClockBehind, Recorded: Skew, Target: OnClock, Flag: "clocks-behind", State: "clock wrong", Meaning: "a client's clock is behind"},
		{Kind: StepAhead, Recorded: Skew, Target: OnClock, Flag: "clock-steps-ahead", State: "clock wrong",
			Meaning: "while a client runs, its wall clock is set ahead"},
		{Kind: StepBack, Recorded: Skew, Target: OnClock, Flag: "clock-steps-back", State: "clock wrong",
			Meaning: "while a client runs, its wall clock is set back"},
		{Kind: ClockJump, Target: OnServer, OneShot: true, Begins: "clock jumps", Flag: "clock-jumps", Old: []string{"server-jump", "server-jumps"},
			State: "clock jumped", Needs: []Capability{ServerState}, Takes: TakesJump, Told: "%v", Meaning: "a server's clock jumps"},
		{Kind: ClockBack, Recorded: ClockJump, Target: OnServer, OneShot: true, Flag: "clock-jumps-back", State: "clock jumped", Needs: []Capability{ServerState},
			Meaning: "a server's clock is set back"},
		{Kind: Restart, Target: OnServer, OneShot: true, Begins: "restarts empty", Flag: "restarts", Old: []string{"server-restart"}, State: "restarted",
			Needs: []Capability{ServerState, ServerStop, Reconnect}, Breaks: true, Told: "without its data", Seen: "the server answers again, and is empty",
			Meaning: "a server restarts without its data"},
		{Kind: FailOver, Recorded: Restart, Target: OnServer, OneShot: true, Begins: "restarts as saved", Flag: "fail-overs", State: "restarted",
			Needs: []Capability{ServerState, ServerStop, ServerCopy, Reconnect}, Also: []string{"saves"}, Takes: TakesAge, Most: 10 * time.Minute, Breaks: true, Told: "with what it has saved", Seen: "the server answers again, with what it had saved",
			Meaning: "a server comes back without its last writes, as a replica that lagged"},
		{Kind: TakeOver, Recorded: Restart, Target: OnServer, OneShot: true, Begins: "fails over to", State: "restarted",
			Needs: []Capability{ServerState, ServerStop, Replicas, Reconnect}, Also: []string{"holds back one replica", "requires a replica", "wait until writes are refused"}, Takes: TakesReplica, Place: AllServers, Breaks: true, Seen: "the replica answers at the primary's address",
			Meaning: "the primary dies, and a chosen one of its replicas takes over"},
		{Kind: SplitBrain, Target: OnServer, Begins: "fails over without", Ends: "demotes the old primary", State: "split", Sign: '/',
			Needs: []Capability{ServerState, ServerStop, Replicas, Reconnect},
			Takes: TakesClients, Place: AllServers, Breaks: true, Seen: "both answer as primaries", Over: "the old primary has ended",
			Meaning: "a replica takes over for some clients, while the old primary still answers the others"},
		{Kind: Down, Target: OnServer, Begins: "goes down", Ends: "comes back", State: "down", Sign: '/', Needs: []Capability{ServerState, ServerStop, Reconnect},
			Breaks: true, Seen: "the server has ended", Over: "the server answers again, with the data that it had",
			Meaning: "a server is down for a while: connections to it break, and new ones are refused; it comes back with its data"},
		{Kind: Isolated, Target: OnServer, Begins: "is cut off", Ends: "rejoins", State: "isolated", Sign: '/', Needs: []Capability{ServerState, Ensemble},
			Place: OneServer, Long: true, Told: "no byte passes between it and the others", Seen: "the links to and from it hold, and the others serve", Over: "all servers have the same leader",
			Meaning: "a server of an ensemble is cut off from the others, and its clients reach it"},
		{Kind: SlowServer, Target: OnServer, Begins: "answers after", Ends: "answers at once", State: "slow", Sign: '~',
			Takes: TakesSpan, Most: time.Minute, Mild: true, Keeps: true, Told: "%v for each request", Seen: "a request of the lab's waits", Over: "no request waits",
			Meaning: "a server takes long for each request, and carries out one after the other"},
		{Kind: SlotMigration, Target: OnServer, Begins: "migrates the slot", Ends: "has migrated the slot", State: "slot migrating", Sign: '/',
			Needs: []Capability{ServerState, Slots},
			Also:  []string{"migrates only the lock"}, Place: AllServers, Keeps: true, Over: "all nodes name the other primary as the owner of the slot",
			Meaning: "the keys' slot migrates to another primary of a cluster: the keys are there, and the old one answers ASK until the other owns the slot"},
		{Kind: Operator, Target: OnServer, OneShot: true, Begins: "operator limits lock to", State: "lock limited", Needs: []Capability{ServerState},
			Takes: TakesSpan, Place: AllServers, Told: "limits the lock to %v", Meaning: "an operator sets the expiry of the lock by hand"},
		{Kind: Stall, Target: OnHost, State: "stalled", Meaning: "the machine did not run the lab for a while"},
	}
	for i := range all {
		if all[i].Recorded == "" {
			all[i].Recorded = all[i].Kind
		}
		if all[i].Most == 0 {
			all[i].Most = 24 * time.Hour
		}
	}
	return all
}

var catalogue = All()

// Find looks a fault up by its name or a former one. An unknown name yields a Fault without a target.
func Find(name string) (Fault, bool) {
	f, ok := where(func(f *Fault) bool { return string(f.Kind) == name || slices.Contains(f.Old, name) })
	if !ok {
		return Fault{Kind: Kind(name), Recorded: Kind(name)}, false
	}
	return f, true
}

// BegunBy is the fault that a script begins with these words; ok is false if they begin none.
func BegunBy(words string) (f Fault, ok bool) {
	return where(func(f *Fault) bool { return f.Begins != "" && f.Begins == words })
}

// EndedBy is the fault that a script ends with these words, the first if they end several; ok is false if they end none.
func EndedBy(words string) (f Fault, ok bool) {
	return where(func(f *Fault) bool { return f.Ends != "" && f.Ends == words })
}

// SpokenOf is the fault that a script begins, prepares or, of a server, ends with these words; ok is false if they are about none.
func SpokenOf(words string) (f Fault, ok bool) {
	if f, ok = BegunBy(words); ok {
		return f, true
	}
	return where(func(f *Fault) bool {
		return slices.Contains(f.Also, words) || f.Target == OnServer && words != "" && f.Ends == words
	})
}

// where does not copy what it passes over: entries are large, and each step of a script looks for several.
func where(is func(*Fault) bool) (f Fault, ok bool) {
	for i := range catalogue {
		if is(&catalogue[i]) {
			return catalogue[i], true
		}
	}
	return Fault{}, false
}

// Of is the entry of a kind.
func (k Kind) Of() Fault {
	f, _ := Find(string(k))
	return f
}

// MaxLag is the longest silence of a replica that a primary bears which requires one. Replicas report every second,
// and later on a busy machine.
const MaxLag = 4 * time.Second

// OnServer says whether the kind hits a server, whose keys may then change without a command.
func (k Kind) OnServer() bool { return k.Of().Target == OnServer }

// Changes says whether a server may hold something else after the fault, without a command.
func (k Kind) Changes() bool { return k.OnServer() && !k.Of().Keeps }

// OnMessage says whether the kind is the action of a breakpoint. Such a fault takes effect when its request passes.
func (k Kind) OnMessage() bool { return k.Of().Target == OnMessage || k == ReplyLost }

// WithholdsReplies says whether the kind keeps replies from a client for as long as it lasts. The client gets them afterwards.
func (k Kind) WithholdsReplies() bool { return k.Of().Withholds }

// Holds says whether the kind stops an operation until its request or reply is released.
func (k Kind) Holds() bool { return k == HoldRequest || k == HoldReply }
