package find

import (
	"strings"

	"github.com/locklab/locklab/checker"
)

// Trouble is a race that an article tells of, or does not (★), and where to see it. Lock shows the anomalies in the scenario, and Withstands, if
// there is such a lock, shows none of them there.
type Trouble struct {
	Article, What, Scenario, Lock, Anomalies, Withstands string
}

// Names are the anomalies.
func (t Trouble) Names() []checker.Name {
	var names []checker.Name
	for word := range strings.SplitSeq(t.Anomalies, ", ") {
		names = append(names, checker.Name(word))
	}
	return names
}

// Troubles are the rows of docs/tables/troubles.md, in the order of the articles. To add one is to add a line; the page and the verdicts in it are generated.
func Troubles() []Trouble {
	return []Trouble{
		{"A1", "a crashed holder blocks everybody for ever", "holder-crashes", "setnx-del", "stuck-lock", "setpx-lua"},
		{"A2", "two clients find the same lock expired; the second deletes the lock of the first", "both-clear-expired", "setnx-expired-del", "double-holder, wrongful-delete", "getset"},
		{"A2", "★ the release deletes whatever is there by now", "stopped-between-check-and-delete", "setnx-expired-del", "double-holder, wrongful-delete", "setpx-lua"},

		{"A3", "clock skew: a client whose clock is ahead takes a live lock", "clock-ahead", "getset", "double-holder, early-grant", "setpx-lua"},
		{"A3", "clock skew: the lock of a holder whose clock is behind is taken while it is live", "clock-behind", "getset", "double-holder, early-grant", "setpx-lua"},
		{"A3", "clock skew: a client whose clock is behind waits for a dead holder", "clock-behind-waiting", "getset", "stuck-lock", "setpx-lua"},
		{"A3", "overwrite: the loser's GETSET has replaced the winner's value, who cannot release its lock", "both-judge-expired", "getset", "overwrite, unreleasable", ""},
		{"A3", "check before the critical step: a false alarm after an overwrite", "both-judge-expired", "getset", "false-alarm", "getset-published"},
		{"A3", "★ to check narrows the window and does not close it", "checked-then-stopped", "getset", "stale-write, lost-update", "fenced"},
		{"A3", "★ nil from GET, way (2): GETSET overwrites a fresh, live lock, which its holder cannot release", "nil-taken-for-expired", "getset-nil-expired", "overwrite, unreleasable, false-alarm", "getset"},
		{"A3", "nil from GETSET: compared for equality only, a lock that is held counts as lost, and all clients wait", "released-between-get-and-getset", "getset-nil-lost", "ghost-lock", "getset"},
		{"A3", "★ release in three steps: between GET and DEL the lease ends and another takes over", "stopped-between-check-and-delete", "getset", "double-holder, wrongful-delete", "setpx-lua"},
		{"A3 code", "★ the lease in ms times 1,000 is called ns: it ends 1,000 times too early", "asked-for-half-a-lease", "getset-published/short-lease", "double-holder, early-grant", "getset"},
		{"A3", "nil from GETSET counts as lost, nil from GET as expired: the ghost lock is overwritten by another one", "both-read-nil", "getset-nil-lost/nil-lost+nil-expired", "ghost-lock", "getset-nil-expired"},
		{"A3 code", "★ nanoTime: a dead holder's value from a machine that has been up longer blocks for the difference", "dead-holder-clock-ahead", "getset-published", "stuck-lock", "setpx-lua"},
		{"A3 code", "★ nanoTime: a value from a machine up shorter is taken at once while it is live", "clock-behind", "getset-published", "double-holder, early-grant", "setpx-lua"},
		{"A3 code", "★ the retry after nil from GET throws its result away, and acquire fails with a null pointer: the waiter does not go on", "released-between-setnx-and-get", "getset-published/lost-retry", "ghost-lock", "getset"},
		{"A3 code", "★ two locks are equal if they end at the same time: a release that is asked again deletes the next one's", "release-tried-again", "getset-published/equal-stamps", "double-holder, wrongful-delete", "getset"},
		{"A3 code", "★ isLocked asks only local memory and clock", "check-after-takeover", "getset-published/local-check", "stale-write, lost-update", "getset"},
		{"A3 code", "★ the value of GETSET is made before SETNX: after a slow try the lease has ended when it is written", "late-takeover", "getset-published/stale-stamp", "double-holder, early-grant", "getset"},
		{"A3 code", "★ release forgets the token before DEL and reports nothing: after an error no client can release", "release-broken-off-clock-ahead", "getset-published/forgets-first", "stuck-lock", "getset"},
		{"A3 code", "★ a client asks for such a release again and gets ok, but the lock stays for the rest of its lease", "release-broken-off", "getset-published/forgets-first", "unreleasable", "getset"},
		{"A3 code", "★ the token lies in a static thread-local: a second lock overwrites the first one's", "second-lock-overwrites-token", "getset-published/shared-token", "unreleasable", "getset"},

		{"A4", "a plain DEL removes the lock of the next holder", "work-longer-than-lease", "setpx-del", "wrongful-delete", "setpx-lua"},
		{"A4", "with a token, but GET, compare and DEL apart", "stopped-between-check-and-delete", "setpx-getdel", "double-holder, wrongful-delete", "setpx-lua"},
		{"A4", "A's lease is 30 s, A works 35 s: both work", "work-longer-than-lease", "setpx-lua", "double-holder, lost-update", "watchdog"},
		{"A4", "set the value and the expiry in one command, else a crash between them leaves a lock for ever", "crash-between-setnx-and-expire", "setnx-expire-norepair", "stuck-lock", "setpx-lua"},
		{"A4 code", "★ a lost SET reply leaves a ghost for the whole lease", "acquire-reply-lost", "setpx-lua-published", "ghost-lock", "watchdog"},
		{"A4 code", "★ release retries every 200 ms until its own bound, 24.9 days: it hangs when the lock is not its own any more", "release-after-the-lease", "setpx-lua-published/endless-release", "hung-operation", "setpx-lua"},
		{"A4 code", "★ waiters keep their connection: with a small pool the holder can never release, and all hang for ever", "waiters-keep-the-connections", "setpx-lua-published/starving-pool", "hung-operation", "setpx-lua"},
		{"A3 code", "★ the wait is measured by the local wall clock: set back, the client waits on", "waiting-clock-set-back", "getset-published/wall-clock", "hung-operation", "getset"},
		{"A4 code", "★ 000: the wait is measured by the local wall clock: set back, the client waits on", "waiting-clock-set-back", "setpx-lua-published/wall-clock", "hung-operation", "setpx-lua"},
		{"A4 code", "★ 001: the wait is measured by the local wall clock: set back, the client waits on", "waiting-clock-set-back", "setex-lua-published/wall-clock", "hung-operation", "setpx-lua"},
		{"A4 code", "★ 001: the release swallows its error and says no: the lock stays, and its user does not know", "release-broken-off", "setex-lua-published/swallowed-error", "unreleasable, false-alarm", "setpx-lua"},
		{"A4 code", "★ 000: the lease is 2³¹−1 ms unless its user names one, and the sale names none: a crashed holder stops it for 24.9 days", "holder-crashes", "setpx-lua-published/endless-lease", "stuck-lock", "setpx-lua"},
		{"A4", "★ a SET comes late, when its client has given up: to take back helps only if it is there already", "late-acquire", "setpx-lua", "ghost-lock", "redlock"},

		{"A5", "a crash between SETNX and EXPIRE: stuck for ever without the repair", "crash-between-setnx-and-expire", "setnx-expire-norepair", "stuck-lock", "setnx-expire"},
		{"A5 code", "★ 20,000 ms are passed to a call that takes seconds: 5 h 33 min", "holder-crashes", "setnx-expire-published/long-lease", "stuck-lock", "setnx-expire"},
		{"A5", "★ the holder pauses between SETNX and EXPIRE: its late EXPIRE prolongs the next one's lock, and both hold", "late-expire", "setnx-expire", "double-holder, wrongful-renew", "setnx-expire-norepair"},
		{"A5", "★ a late repair prolongs a later owner's lock", "late-repair", "setnx-expire", "wrongful-renew", ""},
		{"A5", "★ a repair between WATCH and EXEC aborts the owner's release", "repair-aborts-release", "setnx-expire-published/aborted-release", "unreleasable", "setnx-expire"},

		{"A6", "no expiry: a crashed holder blocks everybody", "holder-crashes", "setnx-watch", "stuck-lock", "setnx-expire"},
		{"A5 code, A6 code", "★ the wait is measured by the local wall clock: set back, the client waits on", "waiting-clock-set-back", "setnx-expire-published/wall-clock", "hung-operation", "setnx-expire"},
		{"A6 code", "★ an aborted EXEC is not tried again, and its empty list passes for success", "touched-while-released", "setnx-watch-published/aborted-release", "unreleasable", "setnx-watch"},
		{"A6", "★ a lost SETNX reply blocks for ever", "acquire-reply-lost", "setnx-watch", "stuck-lock, ghost-lock", "watchdog"},

		{"A7", "★ the blind renewal prolongs another's lock", "cut-off-past-lease", "watchdog-published/blind-renewal", "wrongful-renew", "redisson-watchdog"},
		{"A7", "★ a release that fails does not clear the flag: it renews its own stuck lock for ever", "release-lost-while-renewing", "watchdog-published/uncleared-flag", "stuck-lock", "watchdog"},
		{"A7", "★ a release that fails does not clear the flag: it renews the next owner's, even after that one crashed", "failed-release-keeps-renewing", "watchdog-published/blind-renewal+uncleared-flag", "wrongful-renew, stuck-lock", "watchdog"},
		{"A7", "★ the flag is one per lock object: release of another key stops every watchdog", "release-stops-another-watchdog", "watchdog-published/shared-flag", "double-holder", "watchdog"},
		{"A7", "★ watchdogs synchronise on one static object: the second lock of the process is not renewed", "second-lock-not-renewed", "watchdog-published/static-monitor", "double-holder", "watchdog"},
		{"A7", "★ release, then any acquire during the sleep: the old watchdog survives and renews the old key", "surviving-watchdog", "watchdog-published/blind-renewal+shared-flag+surviving-watchdog", "wrongful-renew, stuck-lock", "watchdog"},
		{"A7", "★ any try by the same thread and lock object overwrites its token: the first lock cannot be released", "failed-try-overwrites-token", "watchdog-published/overwritten-token", "unreleasable", "watchdog"},
		{"A7", "★ a business thread that dies without release is renewed for ever", "thread-dies-holding", "watchdog-published", "stuck-lock", "setpx-lua"},
		{"A7", "★ the watchdog counts from the reply to SET: after a slow reply the lease ends before the first renewal", "slow-grant", "watchdog-published/late-start", "double-holder, lost-update", "watchdog"},
		{"A7", "★ an error in the renewal ends the watchdog silently", "renewal-reply-lost", "watchdog-published/silent-end", "double-holder, lost-update", "watchdog"},
		{"A7", "★ a clock set back delays the renewal", "clock-set-back-while-renewing", "watchdog-published", "double-holder, lost-update", "watchdog"},
		{"A7", "★ SET and renewal encode the key differently: it renews a key that does not exist, unnoticed", "work-longer-than-lease", "watchdog-published/foreign-encoding", "double-holder, lost-update", "watchdog"},
		{"A7", "★ a lost SET reply is retried with a new token: a ghost", "acquire-broken-off", "watchdog-published/retried-set", "ghost-lock", "watchdog"},
		{"A7", "★ every error is caught: a release that was carried out says no when its reply is lost", "release-reply-lost", "watchdog-published/swallowed-error", "false-alarm", "watchdog"},
		{"A7", "★ a watchdog that cannot be started is logged: acquire says yes, and nothing renews the lock", "work-longer-than-lease", "watchdog-published/unstarted-watchdog", "double-holder, lost-update", "watchdog"},

		{"A7", "★ a lease of 3 s or less ends while the watchdog sleeps", "work-longer-than-lease", "watchdog-published/long-sleep", "double-holder, lost-update", "watchdog"},
		{"A7, swarthy/redis-semaphore#205", "★ a renewal on its way meets the release, and arrives at the next one's lock", "renewal-after-release", "watchdog-published/blind-renewal", "wrongful-renew", "watchdog"},

		{"A8", "the lock outlives its lease while its holder works, and ends with its process", "work-longer-than-lease", "setpx-lua", "double-holder, lost-update", "redisson-watchdog"},
		{"A8", "★ one failed renewal is the last: the lease ends under the holder, who is not told", "renewal-reply-lost", "redisson-watchdog", "double-holder, lost-update", "watchdog"},
		{"A8", "★ the holder is not told of the loss", "cut-off-past-lease", "redisson-watchdog", "double-holder", "watchdog"},

		{"A8 code", "a caller that names a lease has no watchdog: longer work is unprotected", "work-longer-than-lease", "redisson-lease", "double-holder, lost-update", "redisson-published"},
		{"A8 code", "★ an inner acquire that names a lease overwrites that of the lock object, and shortens a hold that is renewed", "one-release-too-few", "redisson-published/overwritten-lease", "double-holder", "redisson"},

		{"A9", "★ a retry is counted twice: one release leaves the lock held", "acquired-twice-by-retry", "redisson", "unreleasable", "watchdog"},
		{"A9", "★ renewal is registered per client and name: where one thread has lost the lock, another's is not renewed", "second-thread-not-renewed", "redisson", "double-holder", "watchdog"},
		{"A9 code", "★ expirationRenewalMap: a renewal that is answered after the release registers itself again, and the next thread is not renewed", "renewal-answered-after-release", "redisson-published", "double-holder", "redisson"},
		{"A9 code", "★ a retry is counted twice: the release that does not free the lock leaves its renewal, which goes on for ever", "acquired-twice-by-retry", "redisson-published", "stuck-lock, unreleasable", "redisson-watchdog"},
		{"A9", "★ the thread dies, its process renews", "thread-dies-holding", "redisson", "stuck-lock", "setpx-lua"},

		{"A9, redisson/redisson#3194", "★ after a partition the same lock is taken again, and is not renewed: the renewal that failed is still registered", "acquired-again-after-loss", "redisson/stale-entry", "double-holder", "redisson"},

		{"A10", "★ the time-outs are computed with the clients' clocks: one whose clock is ahead throws the others out", "queued-client-clock-ahead", "redisson-fair", "unfair", ""},
		{"A10", "★ a client that is killed in the queue holds the others up", "queued-client-killed", "redisson-fair", "stuck-lock", ""},

		{"A11, Kleppmann", "★ the client pauses before its second look at the clock", "pause-before-second-look", "redlock-no-second-look", "double-holder, lost-update", "redlock"},
		{"A11, antirez", "★ the client pauses after its second look: a hold that does not end with its validity goes on", "pause-after-second-look", "redlock-endless", "double-holder", "redlock"},
		{"A11, Kleppmann", "★ the clock of one server of the majority jumps", "one-clock-jumps", "redlock", "double-holder, early-grant", ""},
		{"A11, redis.io", "★ one server of the majority restarts without its data", "one-restarts-empty", "redlock", "double-holder, early-grant", ""},
		{"A11", "★ half of the servers taken for a majority: an even split grants twice", "even-split", "redlock-no-second-look/half-majority", "double-holder, lost-update", "redlock"},
		{"A11", "★ the keys expire after some tens of milliseconds, as 003 puts it: before most work begins", "asked-for-half-a-lease", "redlock-endless/no-end+tiny-expiry", "double-holder", "redlock"},
		{"A11", "★ one primary of the majority fails over to a replica that lacks the lock", "one-fails-over", "redlock", "double-holder, early-grant", ""},
		{"A12", "★ three locks of different names on one server are no independent quorum: they are lost together", "one-restarts-empty-of-five", "redisson-redlock/one-server", "double-holder", "redisson-redlock"},
		{"A12 code", "★ three fair locks of different names on one server: the majority is lost with one server", "one-restarts-empty-of-five", "redisson-fair-redlock/one-server", "double-holder", "redisson-fair-redlock"},
		{"A12", "★ the multi-lock declares no validity: a pause ends its leases under its holder", "pause-after-second-look", "redisson-multilock", "double-holder", "redlock"},
		{"A12", "★ Redisson's RedLock does not look at the clock a second time", "pause-before-second-look", "redisson-redlock", "double-holder, lost-update", "redlock"},

		{"Kleppmann", "the holder is paused (garbage collection) past its lease, and writes although another client holds the lock; a fencing token refuses that write", "pause-past-lease", "setpx-lua", "stale-write, lost-update", "fenced"},
		{"A13", "the session ends while its holder is paused: the node goes, the next one holds, and the holder writes", "pause-past-lease", "zookeeper", "double-holder, lost-update", "zookeeper-fenced"},
		{"A13", "★ a client that is cut off learns only when it is back that its session has ended", "cut-off-past-lease", "zookeeper", "double-holder", "zookeeper-protected"},
		{"A13", "★ to check the session before the write narrows the window and does not close it", "checked-then-stopped", "zookeeper-protected", "stale-write, lost-update", "zookeeper-fenced"},
		{"A13", "★ a fence refuses nothing until the newer one has come: a late write that is first is accepted", "late-write-comes-first", "zookeeper-fenced", "stale-write", ""},
		{"A13", "★ one node for all: a release after the session deletes the next one's node", "cut-off-past-lease", "zookeeper-herd", "wrongful-delete", "zookeeper"},
		{"A13", "★ the reply to a create is lost: no client knows the name of the node, which stays for as long as the session", "orphaned-node", "zookeeper", "stuck-lock, ghost-lock", "zookeeper-protected"},
		{"A13", "★ a create comes late, when its client has given up", "late-acquire", "zookeeper", "stuck-lock, ghost-lock", "zookeeper-protected"},
		{"A13", "★ the thread dies, its process keeps the session", "thread-dies-holding", "zookeeper", "stuck-lock", ""},
		{"A13", "★ the leader is cut off from the ensemble together with the holder, whose late write is accepted", "ensemble-leader-cut-off", "zookeeper-protected", "stale-write, lost-update", "zookeeper-fenced"},
		{"A13", "★ the holder's server answers on without the leader, which has ended the session: to count the session does not help", "ensemble-follower-cut-off", "zookeeper-protected", "stale-write, lost-update", "zookeeper-fenced"},
		{"A14", "the mutex knows of its session only what its client hears: two hold after a pause", "pause-past-lease", "curator-mutex", "double-holder, lost-update", "zookeeper-fenced"},
		{"A14", "★ the mutex has no validity: a client that is cut off goes on", "cut-off-past-lease", "curator-mutex", "double-holder", "zookeeper-protected"},
		{"A14", "★ a client stopped in the loop returns without deleting its node", "time-over-in-the-queue", "curator-mutex/left-node", "stuck-lock, ghost-lock", "curator-mutex"},

		{"A15", "a lock in one process, and a second machine", "take-turns", "local", "double-holder, stale-write", "setpx-lua"},
		{"A16", "a fail-over loses the lock: the primary dies before it has replicated", "fail-over-before-replication", "redisson", "double-holder, early-grant", ""},
		{"A16", "★ a replica takes over that lags by more than a lease: it does not know the renewals", "replica-lags-past-renewals", "watchdog", "double-holder, early-grant", ""},
		{"A16", "★ WAIT and the wrong replica: one has acknowledged the lock, the other takes over", "wait-and-the-wrong-replica", "setpx-lua-wait", "double-holder, early-grant", ""},
		{"A16", "★ no replica acknowledges the lock before the master dies: WAIT refuses it", "no-replica-acknowledges", "setpx-lua", "double-holder, early-grant", "setpx-lua-wait"},
		{"A16", "★ split brain: the old primary still answers, and both grant the lock", "split-brain", "redisson", "double-holder, lost-update", "setpx-lua-wait"},
		{"A16", "★ split brain: the holder renews its lock on the old primary, where no other client asks", "split-brain-while-held", "watchdog", "double-holder, stale-write", ""},
		{"A16", "★ min-replicas-to-write bounds what is lost, and does not prevent the loss", "min-replicas-within-lag", "watchdog", "double-holder, early-grant", ""},
		{"A16", "★ one Redis that is down amid a release: asked again, the release removes the next holder's lock", "redis-down-amid-release", "setpx-del", "double-holder, wrongful-delete", "setpx-lua"},
		{"A16", "★ one Redis that is down for longer than a lease: the holder renews nothing, and is not told", "redis-down-past-lease", "redisson", "double-holder, stale-write", "watchdog"},
		{"A16", "★ a cluster: one primary fails over, and Redlock on its primaries had only just the majority", "one-fails-over", "redlock-cluster", "double-holder, early-grant", ""},
		{"A16", "★ a cluster: a script that names a second key is refused while the slot migrates", "slot-migrates-while-held", "redisson", "unreleasable, false-alarm", "setpx-lua"},
		{"A16", "★ a cluster: the lock has migrated and its queue has not, and the release names both", "slot-migrates-in-part", "redisson-fair", "unreleasable, false-alarm", "fenced"},
		{"A16", "one Redis that loses its data", "redis-restarts-empty", "setpx-lua", "double-holder, early-grant", ""},
		{"A11, redis/redis#416", "★ the server's clock jumps", "server-clock-jumps", "setpx-lua", "double-holder, early-grant", "setnx-watch"},

		{"001", "★ the client library sends DEL again, on the next one's lock", "release-reply-lost-resent", "setpx-del-resend", "double-holder, wrongful-delete", "setpx-lua-resend"},
		{"001, redis/go-redis#2985", "★ the client library sends SET NX again, and is refused by its own ghost", "acquire-reply-lost-resent", "setpx-lua-resend", "ghost-lock", ""},
		{"W1", "no lock at all: the sale that oversells", "last-item-two-requests", "none", "double-holder, lost-update", "watchdog"},
		{"W1", "stock 1, two requests both see 1: sold twice", "last-item-two-requests", "setpx-lua", "lost-update", "watchdog"},
		{"W2", "★ the stock is in memory: two instances have two stocks, and no lock helps", "flash-sale-two-instances", "setpx-lua", "lost-update", ""},
		{"W3", "two buyers of one item after the first one's lease has ended (a stock in place of the market)", "last-item-two-requests", "setpx-lua", "lost-update", "watchdog"},
	}
}
