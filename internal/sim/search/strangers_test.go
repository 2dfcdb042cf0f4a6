package search

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Locks that nobody here has seen before: small, plausible, and each with one thing that a search may overlook.
func TestStrangers(t *testing.T) {
	t.Parallel()
	answers(t, `
~plain              2x2  crash reply-lost      holds wrongful-delete overwrite wrongful-renew
quitter             2x1  tries=4                finds
twicer              2x1                        finds stuck-lock
shared              2x1                        finds stale-write
shared              2x1  crash                 finds wrongful-renew
forgetter           2x1                        finds unreleasable
forcer              2x1  crash                 holds unreleasable
setter              2x1                        holds wrongful-delete
put-back            2x1                        finds overwrite double-holder wrongful-delete
hash-field          2x1  pause                 finds wrongful-delete double-holder
bit                 2x2  duplicate             finds wrongful-delete double-holder overwrite
deletes-again       3x1                        finds wrongful-delete
after-two-losses    2x1  reply-lost reply-lost tries=3 finds overwrite
~renews-any         2x1  pause                 finds wrongful-renew
reads-other-key     2x1                        finds double-holder
~ninth-by-force     2x3                        finds double-holder
ticketer            2x1                        finds ghost-lock
~lender             2x2  duplicate             finds stale-write   # a write comes twice, and another had the lock in between
lender              1x2  duplicate             holds stale-write   # and nobody had

# These hold.
watcher             2x1  crash                 holds
~watcher            2x2  late-request          holds wrongful-delete overwrite wrongful-renew early-grant unreleasable false-alarm
up-and-down         2x1                        holds double-holder
set-member          2x1                        holds double-holder
list-element        2x1                        holds double-holder
sleeps-three-times  2x1  crash                 holds
too-many-tasks      1x1                        refuses: the lock has more than 64 tasks at a time
~gives-up-in-time   2x1  pause                 holds wrongful-delete overwrite wrongful-renew

# Who sets, waits and looks again has the lock, unless it is paused before it sets.
looks-again         2x1                        holds double-holder
looks-again         2x1  pause                 finds double-holder

# What a lock does at some times only.
late-release        2x1  pause                 finds wrongful-delete
times-a-step        2x1  pause pause           finds overwrite
hasty               2x1  pause                 finds overwrite
hasty-in-the-middle 2x1  pause                 finds overwrite
stamped             2x1  pause                 finds double-holder
stays-until-its-end 2x2                        finds double-holder
sleeper             2x2                        finds overwrite

# How long a key lives is the server's time: a lock that asks for it does something else at other times.
half-left           2x1  pause                 finds overwrite
third-left          2x1  pause                 finds overwrite
third-left-scripted 2x1  pause                 finds overwrite
at-no-second        2x1  pause                 finds overwrite
never-left          2x1  pause                 holds overwrite
never-left-scripted 2x1  pause                 holds overwrite

# A script is told the time of its client, and compares it with a stamp.
scripted-stamp-1.5  2x1  pause                 finds double-holder
scripted-stamp-1.5  2x1  crash                 holds
limit-of-a-set      2x1  pause                 finds double-holder

# A refused try has changed a server, so the next one may come to something else.
counts-refusals-1   2x1                        finds overwrite
counts-refusals-2   2x1                        finds overwrite
counts-refusals-3   2x1  tries=4               finds overwrite
counts-refusals-9   2x1  tries=9               finds overwrite

# A client is paused when it has made up its mind, and has not sent its request yet.
looks-after-timeout 2x1  pause                 finds ghost-lock
keeps-to-its-lease  2x1  pause                 finds unreleasable
keeps-to-its-lease  2x1  pause                 finds false-alarm
keeps-to-its-lease  2x1  crash                 holds unreleasable

# Fencing tokens.
fences-fall         2x2                        finds
fences-by-hundreds  2x2                        holds
fences-of-a-clock   2x2                        holds
fences-forgotten    2x1                        finds fence-regression
fences-drawn-first  2x1                        finds
fences-drawn-first  2x1                        finds fence-regression
fences-kept         2x2  reenter=1             holds

# A holder that acquires its lock again, and is free after one release.
uncounted           2x1  reenter=1             finds double-holder

# A wall clock that steps back makes a lease last that has ended. A monotonic clock does not step.
~measures-wall      2x1  pause step-back       finds double-holder
~measures-wall      2x1  pause                 holds double-holder
~measures-wall      2x1  step-back             holds double-holder
~measures-wall      2x1  pause step-ahead      holds double-holder
~measures-monotonic 2x1  pause step-back       holds double-holder

# A validity counts from the call. One that counts from the reply ends after the lease.
valid-from-call     2x1                        holds double-holder
~valid-from-call    2x1  pause                 holds double-holder
valid-from-reply    2x1  pause                 finds double-holder

# A replica lacks one write or more: what takes two keys is lost only if it lacks both.
~twofold            2x2  fail-over lag=1       holds double-holder
~twofold            2x2  fail-over lag=2       finds double-holder

# A task that has been running since its lock was made is no operation: what is lost is an acquire's.
task-of-new         2x1  reply-lost            finds ghost-lock
task-of-a-task      2x1  reply-lost            finds ghost-lock
`, strangerNamed)
}

// Locks by counting. A refused try that counts under the lock's key takes nothing from the client that has the lock.
func TestLocksThatCount(t *testing.T) {
	t.Parallel()
	answers(t, `
incr                2x1                        holds
incr-scripted       2x1                        holds
number-scripted     2x1                        holds
permit              2x1                        holds
incr                2x1  pause                 holds overwrite
incr-scripted       2x1  pause                 holds overwrite
incr-scripted       2x1  pause                 holds wrongful-renew
incr-scripted       2x1  crash                 holds stuck-lock
number              2x1                        finds overwrite
incr-scripted       2x1  pause                 finds double-holder
incr-scripted       2x1  pause                 finds wrongful-delete
incr                2x1  crash                 finds stuck-lock
permit              2x1  crash                 finds stuck-lock
incr-prolongs       2x1 pause                   finds wrongful-renew
incr-prolongs-scr   2x1  pause                 finds wrongful-renew
incr-prolongs-scr   2x1  crash                 finds stuck-lock
`, strangerNamed)
}

// What is stuck: nobody gets the lock within two leases.
func TestStuckLocks(t *testing.T) {
	t.Parallel()
	answers(t, `
prolongs-any        2x1  crash                 finds stuck-lock
prolongs-any-twice  2x1                        finds stuck-lock
settler             2x1                        finds stuck-lock
remakes             2x1                        finds stuck-lock # the key is made anew after the release, and gives the lock to nobody
remakes-leaseless   2x1                        finds stuck-lock

# Whoever is refused for good has a lock that is stuck, whatever its tries do besides.
keeps               2x1                        finds stuck-lock
keeps-and-sleeps    2x1                        finds stuck-lock
keeps-and-sleeps-2  2x1                        finds stuck-lock
keeps-and-dates     2x1                        finds stuck-lock
keeps-and-writes    2x1                        finds stuck-lock

# What is not free within two leases is stuck, also where it would be taken later.
fifth-try           1x1                        finds stuck-lock
fourth-try          1x1                        holds stuck-lock
second-try          1x1                        holds stuck-lock

# A try that does not end shows nothing: no live client is refused by it.
keeps-and-polls     1x1  crash                 doubts stuck-lock: still in a try
keeps-and-spins     1x1  crash                 doubts stuck-lock: still in a try
keeps-and-polls     2x1                        doubts stuck-lock: still in a try # the second client's try does not end either

# What keeps others out without the lock's key accuses nobody, and clears nobody.
gate                2x1                        holds stuck-lock
gate-with-a-lease   2x1  crash                 holds stuck-lock
gate                2x1  crash                 holds double-holder
gate                2x1  crash                 doubts stuck-lock: did not get the lock
guarded             2x1  reply-lost            doubts stuck-lock: did not get the lock
`, strangerNamed)
}

func strangerNamed(t *testing.T, name string) impls.Spec {
	t.Helper()
	if d, found := byFunctions[name]; found {
		return stranger(d)
	}
	made, found := byTypes[name]
	require.True(t, found, name)
	spec := strangers(made)
	switch name {
	case "fences-kept", "uncounted":
		spec.Promises = append(slices.Clone(spec.Promises), impls.Reentrance)
	case "remakes-leaseless":
		spec.Contract = history.Contract{Leaseless: true}
	}
	return spec
}
