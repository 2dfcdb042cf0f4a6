package search

import (
	"testing"

	"github.com/locklab/locklab/internal/needs"
)

// What is known of the lab's own locks: what the articles say breaks them, with no fewer faults than it takes, and what they withstand.
func TestBuiltInLocks(t *testing.T) {
	t.Parallel()
	answers(t, `
local                   2x1                         finds double-holder   # A15
setnx-del               2x1  crash                  finds stuck-lock      # A1
setnx-expired-del       3x1  crash                  finds wrongful-delete # A2: two delete the expired lock
~getset                3x1  crash                  finds overwrite       # A3: two judge it expired
getset                  2x1  clock-ahead            finds double-holder   # A3: skew
getset-nil-expired      3x1                         finds overwrite       # A3: nil from GET
~getset-nil-lost       2x2  clock-ahead            finds ghost-lock      # A3: nil from GETSET
setpx-lua-published/endless-release 2x1 pause       finds hung-operation  # A4: a release after the lease
setnx-expire            2x1  pause pause            finds wrongful-renew  # A5: late EXPIRE
setnx-expire-norepair   2x1  crash                  finds stuck-lock      # A5: between SETNX and EXPIRE
setnx-expire-published  2x1                         finds unreleasable    # A5: aborted EXEC
~redisson-watchdog     2x1  long-hold reply-lost   finds double-holder   # A8: one failed renewal is the last
setpx-del               2x1  pause                  finds wrongful-delete # a stranger's lock
setpx-getdel            2x1  pause                  finds wrongful-delete # between check and delete
setpx-del-resend        2x1  reply-lost             finds wrongful-delete # the retry
setpx-lua-resend        2x1  reply-lost             finds ghost-lock      # refused by its own lock

# What they promise, they keep.
setpx-lua               2x2                         holds
setpx-lua               2x2  crash                  holds
~setpx-lua             2x2  pause reply-lost       holds wrongful-delete overwrite stuck-lock
~watchdog              2x1  long-hold              holds
~watchdog              2x1  pause                  holds double-holder wrongful-delete wrongful-renew false-alarm
~watchdog              2x2  reply-lost             holds ghost-lock double-holder stuck-lock
~fenced                2x2  pause                  holds lost-update fence-regression
~redisson              2x1  long-hold              holds
~setnx-del             2x2  pause                  holds

# A client that does not know what its release came to releases again. A plain DEL removes another's lock; a comparison does not. A late EXEC is on the
# connection that its client has given up, so what that watched is not what the next release watches.
setnx-del               2x1  reply-lost again=1     finds wrongful-delete
setnx-del               2x1  reply-lost             holds wrongful-delete
setpx-del               2x1  late-request again=1   finds wrongful-delete
setpx-lua               2x1  reply-lost again=1     holds wrongful-delete
setnx-watch             2x1  reply-lost again=1     holds wrongful-delete
setnx-watch             2x1  late-request again=1   holds wrongful-delete
fenced                  2x1  late-request again=1   holds wrongful-delete

# A restart breaks connections: a client may learn that whether its request has been executed or not, and a transaction that watches does not go on.
setpx-lua-resend        2x1  restart                finds false-alarm
setpx-lua-resend        2x1  fail-over              finds false-alarm
setex-lua-published     2x1  restart                finds false-alarm
setpx-lua               2x1  restart                holds false-alarm
setnx-expire-norepair   2x1  fail-over              finds ghost-lock
setnx-expire-norepair   2x1  fail-over              finds stuck-lock
setpx-lua               2x1  fail-over              holds ghost-lock
~setnx-watch           2x1  restart                holds wrongful-delete
setnx-watch             2x1  fail-over              holds wrongful-delete
setnx-watch             2x1  fail-over              finds stuck-lock
~redisson-multilock    2x1  restart                holds double-holder

# A client that finds an older lock of its own in the place of its latest has lost the latest: the notice is right.
~setpx-lua             2x2  fail-over lag=3        holds unreleasable false-alarm
~setpx-getdel          2x2  fail-over lag=3        holds false-alarm

# A server's clock that is set back prolongs leases, as a jump forward shortens them.
setpx-lua               3x1  clock-back             holds
setpx-lua               3x1  clock-back clock-back  holds
setpx-lua               3x1  clock-jump             finds
setpx-lua               3x1  clock-back crash       finds stuck-lock

# A step of a contender's wall clock is enough where leases are judged by wall clocks.
getset                  2x1  step-ahead             finds double-holder
getset                  2x1  step-back              finds double-holder
getset-published        2x1  step-ahead             holds double-holder
getset-published        2x1  clock-ahead            finds double-holder

# A clock at less than a third of the right speed renews too late; a fast one sees a lease end that still runs.
~redisson-watchdog     2x1  clock-behind long-hold rate=.3  finds double-holder
~redisson-watchdog     2x1  clock-behind long-hold rate=.5  holds double-holder
~redisson-watchdog     2x1  clock-ahead long-hold rate=.3   holds double-holder
~getset                2x1  clock-behind rate=.5            finds early-grant
getset                  2x1  clock-ahead rate=.5             finds early-grant

# A holder acquires its lock again. What counts a try twice whose answer was lost is not free after as many releases as acquires.
redisson                2x1  reenter=1              holds
redisson-fair           2x1  reenter=1              holds
redisson                2x1  crash reenter=1        holds
redisson                2x1  reply-lost reenter=1   finds unreleasable
redisson                2x1  duplicate reenter=1    finds unreleasable

# A queue keeps its order whatever becomes of clients, but not if a clock is off by more than a client may be silent (A10).
redisson-fair           2x1                         holds unfair
~redisson-fair         2x1  pause                  holds unfair
~redisson-fair         3x1  crash                  holds unfair
~redisson-fair         3x1  clock-ahead            holds unfair
~redisson-fair         3x1  clock-ahead skew=20    finds unfair
~redisson-fair         3x1  clock-behind skew=20   finds unfair
`, lock)
}

// What the articles say of locks on a ZooKeeper is found by the fault that it takes, and nothing less; and what they promise, they keep.
func TestLocksOnAZooKeeper(t *testing.T) {
	t.Parallel()
	answers(t, `
zookeeper               2x1  pause                  finds double-holder   # a pause beyond the session
zookeeper               2x1  pause                  finds stale-write     # the late write of an expired session
zookeeper               2x1  reply-lost             finds stuck-lock      # an orphaned node: its client does not know its name
zookeeper               2x1  reply-lost             finds ghost-lock
zookeeper               2x1  late-request           finds stuck-lock      # the same of a create that arrives later
zookeeper-herd          3x1  pause                  finds wrongful-delete # it deletes whose node it is
zookeeper-herd          2x1  reply-lost             finds stuck-lock      # refused by its own node
curator-mutex           2x1  pause                  finds double-holder   # nothing tells its holder
zookeeper-protected     2x1  pause                  finds stale-write     # a hold that ends in time, and a write that does not
~zookeeper-protected    2x1  pause                  finds lost-update
zookeeper-fenced        2x1  late-request           finds stale-write     # late, and before anybody's with a higher fence
~go-zookeeper           2x1  pause                  finds double-holder   # nothing tells its holder
zookeeper               2x1  partition              finds double-holder   # it learns of the end of its session only from the server
zookeeper               2x1  partition              finds stale-write
~zookeeper              2x1  partition              finds stuck-lock      # the reply that a partition keeps is lost
zookeeper-herd          2x1  partition              finds wrongful-delete # its release arrives in another session
~curator-mutex          2x1  partition              finds lost-update
~go-zookeeper           2x1  partition              finds double-holder
zookeeper-protected     2x1  partition              finds ghost-lock      # nobody can delete a node while it is cut off, and its session lives on

zookeeper-herd          3x1                         holds
zookeeper               2x1                         holds
zookeeper               2x1  crash                  holds
zookeeper               2x1  long-hold              holds
zookeeper               2x1  reply-lost             holds double-holder stale-write wrongful-delete
curator-mutex           2x1  crash                  holds
curator-mutex           2x1  late-request           holds double-holder early-grant wrongful-delete stuck-lock
zookeeper-protected     2x1  crash                  holds
zookeeper-protected     2x1  long-hold              holds
~zookeeper-protected    2x1  pause                  holds double-holder early-grant wrongful-delete stuck-lock
~zookeeper-protected    2x1  late-request           holds double-holder early-grant wrongful-delete stuck-lock ghost-lock
~zookeeper-fenced       2x1  pause                  holds double-holder lost-update fence-regression
~zookeeper              2x1  partition              holds wrongful-delete false-alarm hung-operation
~zookeeper-protected    2x1  partition              holds double-holder early-grant wrongful-delete stuck-lock stale-write lost-update false-alarm
~zookeeper-fenced       2x1  partition              holds double-holder early-grant wrongful-delete stuck-lock stale-write fence-regression

# Bounds that no search on a ZooKeeper has.
zookeeper               2x1  restart                refuses: is for locks on Redis
setpx-lua               2x1  partition              refuses: is for locks on a ZooKeeper
zookeeper               2x1  servers=3              refuses: must be 1
zookeeper               2x1                         refuses unfair: is not looked for alone
`, lock)
}

// The dispute about Redlock: with a second look at the clock and a hold that ends with its validity it excludes, whatever the clients suffer; not if
// a server's clock jumps or a server forgets; and not without either of the two.
func TestRedlock(t *testing.T) {
	needs.Long(t, "searches of three servers")
	t.Parallel()
	answers(t, `
redlock                 2x1  tries=1                holds double-holder
redlock                 2x1  pause tries=1          holds double-holder
redlock                 2x1  crash tries=1          holds double-holder
redlock                 2x1  reply-lost tries=1     holds double-holder
redlock                 2x1  late-request tries=1   holds double-holder
redlock                 2x1  clock-ahead tries=1    holds double-holder
redlock                 2x1  clock-back tries=1     holds double-holder
redlock                 2x1  clock-jump             finds double-holder
redlock                 2x1  restart                finds double-holder
redlock-endless         2x1  pause                  finds double-holder
redlock-no-second-look  2x1  pause                  finds double-holder

# Whose a lock on most of its servers is decides these.
redlock                 1x1  reply-lost             holds false-alarm  # a lost reply is no refusal
redlock                 2x1  restart                finds early-grant   # a majority is taken twice
redlock                 2x1  crash tries=1          holds early-grant
redlock                 2x1  late-request tries=1             holds ghost-lock
redlock                 2x1  duplicate tries=1                holds unreleasable
redlock                 2x1  late-request late-request        finds ghost-lock    # they make a majority
redlock                 2x1  duplicate duplicate              finds unreleasable  # copies bring back what was removed
`, lock)
}
