package readme

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/internal/adapters"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/scenarios"
)

// note says why published libraries show an anomaly that a correct lock with the same promises does not show, read in their sources.
type note struct {
	libraries []string // beginnings of adapters' names
	scenarios []string
	anomalies []checker.Name
	why       string
}

// notes cover each ✗ of the scorecard; a test asserts that.
func notes() []note {
	return []note{
		{
			[]string{"redsync", "redislock"}, []string{"release-reply-lost-resent", "restart-amid-release"}, []checker.Name{checker.FalseAlarm},
			"The release was carried out, its reply was lost, and go-redis sent it again: the second one finds nothing, and its caller is told that the lock was not held. `mutex.go:244` of redsync answers ErrLockAlreadyExpired, `redislock.go:196` of redislock ErrLockNotHeld. No harm comes of it, unless the caller takes it for a loss. With `MaxRetries: -1` the caller gets an error instead.",
		},
		{
			[]string{"rueidislock"}, []string{"acquire-reply-lost", "acquire-reply-lost-resent", "acquired-twice-by-retry"}, []checker.Name{checker.GhostLock},
			"The script that acquires is a `NewLuaScriptRetryable` (`lock.go:437`). Sent again after a lost reply, its own key refuses it; that counts as ErrNotLocked, for which `lock.go:292` does not delete. With `DisableRetry` it does delete, over the connection that has just failed.",
		},
		{
			[]string{"rueidislock"}, []string{"cut-off-past-lease"}, []checker.Name{checker.DoubleHolder},
			"The documentation promises that the context is cancelled \"automatically and immediately once the KeyMajority is not held anymore, for example: Redis are down\". An extension is waited for until a new deadline (`lock.go:279`), which lies half a validity after the key's end. See [the report](../../adapters/reports/rueidislock-told-late.md).",
		},
		{
			[]string{"rueidislock"}, []string{"pause-past-lease", "late-write-comes-first"}, []checker.Name{checker.DoubleHolder},
			"It declares no validity: after a pause the holder is told when its next extension is answered. No documentation promises more.",
		},
		{
			[]string{"rueidislock"}, []string{"slow-grant"}, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate},
			"The first extension is due half a validity after the grant, not after the request (`lock.go:271`). It takes a grant that is slower than the default `TryNextAfter` of 20 ms, which the lab's client has set to an hour: with the default the acquire fails instead.",
		},
		{
			[]string{"rueidislock"}, []string{
				"clock-behind", "clock-set-back-in-acquire", "clock-set-back-amid-renewal", "clock-set-back-while-renewing", "clock-runs-slow", "clock-runs-too-slow-to-renew",
				"dead-holder-clock-ahead", "release-broken-off-clock-ahead",
			}, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate, checker.StuckLock, checker.Unreleasable},
			"The key expires at a time by the client's wall clock: `SET` with `PXAT` (`lock.go:437`) and `PEXPIREAT` (`435`) get `time.Now()` and the validity (`258`, `279`). With a clock that is behind, is set back or runs too slowly the lease is short, or over at once; " +
				"with one that is ahead a dead holder's key stays for longer. `FallbackSETPX` acquires by a duration, and extends by a time all the same. No documentation promises more.",
		},
		{
			[]string{"redlock-4", "redlock-5"}, []string{"release-reply-lost-resent", "restart-amid-release"}, []checker.Name{checker.FalseAlarm},
			"The same with ioredis, which sends again what got no reply when it has connected anew (`autoResendUnfulfilledCommands`, by default true): `redlock.js:282` of redlock 4 rejects with LockError, `index.js:296` of redlock 5 with ExecutionError.",
		},
		{
			[]string{"redis-semaphore"}, []string{"acquire-reply-lost-resent"}, []checker.Name{checker.GhostLock},
			"ioredis sends the SET NX again when it has connected anew; its own key refuses it, and `mutex/acquire.js:17` takes that for another client's lock. redlock sends a script, deletes its own key after a refusal, and is safe here.",
		},
		{
			[]string{"redlock-4-majority", "redlock-5-majority", "redlock-5-using"}, []string{"clock-set-back-in-acquire"}, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate},
			"The validity is measured by the wall clock, `Date.now()`, from before the first request to after the last (`redlock.js:397` and `419`; redlock 5: `index.js:210`, and `433` for the next extension): set back in between, it is too long. redlock 5 on three servers is done when two have answered: the reply which this scenario holds back delays it only where the process is stopped before both of the others are read (five of six plays). The lab's own Redlock measures it by a monotonic clock.",
		},
		{
			[]string{"redis-py"}, []string{"release-broken-off", "release-broken-off-clock-ahead", "redis-down-amid-release"}, []checker.Name{checker.Unreleasable, checker.FalseAlarm},
			"`release` clears the token before it sends anything (`lock.py:252`). After an error the same lock object says \"Cannot release an unlocked lock\" (`lock.py:251`), and the key stays. Later versions were repaired (redis/redis-py#3847), and were not tested here.",
		},
		{
			[]string{"redis-py-no-timeout"}, []string{"release-broken-off", "release-broken-off-clock-ahead"}, []checker.Name{checker.StuckLock},
			"It follows from the note before: without `timeout` nothing else removes the key (`lock.py:223` sets an expiry only if there is one).",
		},
		{
			[]string{"redis-semaphore"}, []string{"slow-grant"}, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate},
			"The first refresh is due 0.8 of a lease after the grant was answered (`lib/Lock.js:113`), not after it was asked for. A shorter `refreshInterval` leaves more room; the documentation asks for one that is \"less enough than lockTimeout\".",
		},
		{
			[]string{"redis-semaphore"}, []string{"clock-runs-slow"}, []checker.Name{checker.DoubleHolder},
			"The same interval, 0.8 of a lease (`lib/Lock.js:45`), on a clock that runs at less than that rate: the refresh comes too late. Redisson, with a third of a lease, has more room.",
		},
		{
			[]string{"redis-semaphore-majority"}, []string{"clock-set-back-in-acquire"}, []checker.Name{checker.DoubleHolder, checker.StaleWrite, checker.LostUpdate},
			"It measures no time at all: a quorum is enough, however long its answers took (`lib/redlockMutex/acquire.js:25`). Redlock's algorithm says to subtract that time from the validity. The clock has no part in it.",
		},
		{
			[]string{"rueidislock-once"}, []string{"release-broken-off"}, []checker.Name{checker.Unreleasable},
			"The function that releases returns nothing, and the error of its delete is dropped (`lock.go:293`); the key stays for the rest of its validity. The default client sends the delete again.",
		},
		{
			[]string{"redlock-5", "redlock-5-endless"}, []string{"grant-after-the-lease"}, []checker.Name{checker.DeadGrant},
			"The expiration is counted from before the acquire, and not looked at afterwards (`index.js:217`): a reply that comes when the lease is over makes a lock whose expiration has passed. Redlock 4 refuses it. `expiration` tells a user who compares.",
		},
		{
			[]string{"redlock-5-using"}, []string{"cut-off-past-lease", "redis-down-past-lease"}, []checker.Name{checker.DoubleHolder, checker.StaleWrite},
			"`using` aborts its signal when an extension has failed and the lock has expired (`index.js:445`). An extension without an answer is awaited (`438`), and no timer looks at the expiry meanwhile: the routine is told when its client has connected anew.",
		},
		{
			[]string{"redlock-5-using"}, []string{"pause-past-lease", "late-write-comes-first"}, []checker.Name{checker.DoubleHolder},
			"It gives its routine a signal and no validity: after a pause the routine is told when the timer has fired and the extension is answered. No documentation promises more.",
		},
		{
			[]string{"redlock-5-using"}, []string{"clock-runs-slow"}, []checker.Name{checker.DoubleHolder},
			"An extension is due `automaticExtensionThreshold` before the end (`index.js:433`), here 500 ms, by the client's clock: on one that runs too slowly it comes too late. A greater threshold leaves more room.",
		},
		{
			[]string{"redlock-5-using-once"}, []string{"acquire-reply-lost", "acquired-twice-by-retry"}, []checker.Name{checker.GhostLock},
			"A failed acquire is followed by a release of what it may have got (`index.js:222`), here over the connection that has just failed, and its error is ignored. The default client connects anew and sends it.",
		},
		{
			[]string{"redis-semaphore-majority-once"}, []string{"acquire-broken-off"}, []checker.Name{checker.GhostLock},
			"A server's error counts as its refusal (`lib/redlockMutex/acquire.js:23`), and an error of the delete that follows is dropped (`30`): the caller is told `false`, and the keys stay for a lease.",
		},
		{
			[]string{"redis-semaphore-majority-once"}, []string{"release-lost-while-renewing", "release-broken-off-clock-ahead", "release-tried-again"}, []checker.Name{checker.Unreleasable},
			"The errors of all servers are dropped (`lib/redlockMutex/release.js:12`): a release that no server got is none to its caller. See [the report](../../adapters/reports/redis-semaphore-release.md).",
		},
		{
			[]string{"redlock-5-endless"}, []string{"cut-off-past-lease", "grant-after-the-lease", "late-write-comes-first", "pause-past-lease", "redis-down-amid-release", "release-after-the-lease", "released-twice", "renewed-after-takeover", "work-longer-than-lease"}, []checker.Name{checker.HungOperation},
			"`retryCount` -1 counts for a release as well (`index.js:279`): that of a lock which has expired never returns (mike-marcacci/node-redlock#313). A release can be given another one.",
		},
		{
			[]string{"redislock", "redis-py"}, []string{"renewed-after-takeover"}, []checker.Name{checker.DoubleHolder},
			"The renewal is refused, as it should be. Two hold the lock before it: a `Lock` of redislock (`redislock.go`) or redis-py (`lock.py`) has no deadline of its own, so its user goes on until told, as with `setpx-lua`. `TTL` of redislock asks the server.",
		},
		{
			[]string{"redsync-majority"}, []string{"release-broken-off", "release-broken-off-clock-ahead"}, []checker.Name{checker.FalseAlarm},
			"As in note 1, of a majority: the replies of two of three servers were lost, go-redis sent again, and `mutex.go:146` counts only the servers on which the last command has found the lock. How many replies are lost depends on the order in which the servers answer. " +
				"`MaxRetries: -1` changes it.",
		},
		{
			[]string{"etcd-fenced"}, []string{"redis-restarts-empty", "restart-amid-release"}, []checker.Name{checker.FenceRegression},
			"The fence is the revision of the store (`Mutex.Header().Revision`), which counts from 1 again when a server has lost its data. etcd promises nothing for that; a cluster of three loses one member's data without it.",
		},
	}
}

// TestScorecard holds docs/tables/scorecard.md against the table of what was seen.
func TestScorecard(t *testing.T) {
	r := readReviewed(t)
	tables := map[string]*table{}
	var columns []adapters.Adapter
	for _, a := range adapters.All() {
		if a.Table == "" {
			a.Table = adapters.Common
		}
		if tables[a.Table] == nil {
			tables[a.Table] = readTable(t, a.Table)
		}
		if len(a.Like) > 0 && strings.Contains(tables[a.Table].text, " "+a.Name+" ") {
			columns = append(columns, a)
		}
	}
	var b strings.Builder
	b.WriteString("| | client | library | options | `SERVER` | like | `CLIENT` |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i, a := range columns {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s | `%s` | `%s` |\n", i+1, a.Name, a.Library, a.Options, cmp.Or(a.Server, live.RedisServer), strings.Join(a.Like, "`, `"), a.Command)
	}
	b.WriteString("\n| scenario |")
	for i := range columns {
		fmt.Fprintf(&b, " %d |", i+1)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(columns)) + "\n")
	used := map[int]bool{}
	for _, script := range r.scripts {
		row, any := fmt.Sprintf("| [%s](../../scenarios/scripts/%[1]s.lab) |", script.Name), false
		for _, a := range columns {
			got, ok := tables[a.Table].seen.Lookup(script.Name, a.Name)
			mark := ""
			if any = any || ok; ok {
				mark = fmt.Sprintf("[%s](../../%s#L%d)", r.mark(t, script.Name, a, got, used), a.Table, tables[a.Table].lines[script.Name+" "+a.Name])
			}
			row += " " + mark + " |"
		}
		if any {
			b.WriteString(row + "\n")
		}
	}
	b.WriteString("\n**Each ✗, read in the sources**\n\n")
	for i, n := range notes() {
		assert.True(t, used[i], "no cell shows what note %d explains", i+1)
		fmt.Fprintf(&b, "%d. `%s` in `%s`: %s. %s\n", i+1, strings.Join(n.libraries, "`, `"), strings.Join(n.scenarios, "`, `"), names(n.anomalies), n.why)
	}
	holdPart(t, "../../docs/tables/scorecard.md", adapters.Common, b.String())
}

// table is what the scenarios showed of some clients, with the number of each line by scenario and client.
type table struct {
	text  string
	seen  *scenarios.Matrix
	lines map[string]int
}

func readTable(t *testing.T, name string) *table {
	text, err := os.ReadFile("../../" + name)
	require.NoError(t, err)
	seen, err := scenarios.ParseExpected(name, text)
	require.NoError(t, err)
	lines := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 2 {
			lines[words[0]+" "+words[1]] = i + 1
		}
	}
	return &table{string(text), seen, lines}
}

func names(anomalies []checker.Name) string {
	var words []string
	for _, name := range anomalies {
		words = append(words, string(name))
	}
	return strings.Join(words, ", ")
}

// mark is a cell of the scorecard: ✓ safe, = the anomalies that a lock with the same promises shows, too, ✗ with its note.
func (r reviewed) mark(t *testing.T, scenario string, a adapters.Adapter, verdict checker.Verdict, used map[int]bool) string {
	if verdict.Kind == checker.Safe {
		return "✓"
	}
	var usual []checker.Name
	for _, like := range a.Like {
		usual = append(usual, r.verdict(scenario, like).Names()...)
	}
	var marks []string
	for _, name := range verdict.Names() {
		if slices.Contains(usual, name) {
			continue
		}
		at := slices.IndexFunc(notes(), func(n note) bool {
			return slices.Contains(n.scenarios, scenario) && slices.Contains(n.anomalies, name) &&
				slices.ContainsFunc(n.libraries, func(begin string) bool { return strings.HasPrefix(a.Name, begin) })
		})
		assert.GreaterOrEqual(t, at, 0, "no note explains %s of %s in %s", name, a.Name, scenario)
		used[at] = true
		if mark := fmt.Sprintf("✗%d", at+1); !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	if marks == nil {
		return "="
	}
	return strings.Join(marks, " ")
}
