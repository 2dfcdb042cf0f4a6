package scenarios

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed scripts/*.lab
var scripts embed.FS

// Builtin returns the built-in scripts of those names; without names, all of them in their order for readers.
func Builtin(names ...string) ([]*Script, error) {
	if len(names) == 0 {
		names = order()
	}
	var all []*Script
	for _, name := range names {
		src, err := scripts.ReadFile(path.Join("scripts", name+suffix))
		if err != nil {
			return nil, fmt.Errorf("no scenario %q comes with the lab", name)
		}
		script, err := Parse(name+suffix, src)
		if err != nil {
			return nil, err
		}
		script.Builtin = true
		all = append(all, script)
	}
	return all, nil
}

// Source is the text of a built-in script.
func Source(name string) (text string, ok bool) {
	src, err := scripts.ReadFile(path.Join("scripts", name+suffix))
	return string(src), err == nil
}

// Find returns the script of that name.
func Find(scripts []*Script, name string) (*Script, bool) {
	for _, script := range scripts {
		if script.Name == name {
			return script, true
		}
	}
	return nil, false
}

// suffix ends the names of script files.
const suffix = ".lab"

// nameOf is the name of the scenario in the file at path.
func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), suffix)
}

// order lists the scripts in the order for readers: a lock that works, leases that end during a hold or never, lost and late messages,
// clocks, races of single algorithms, one server, several servers, ZooKeeper, published code, several locks in one process, and workloads.
func order() []string {
	return []string{
		"take-turns",
		"taken-again",
		"one-release-too-few",
		"released-without-holding",
		"released-twice",
		"holder-crashes",
		"crash-between-setnx-and-expire",
		"renewing-holder-killed",
		"pause-past-lease",
		"checked-then-stopped",
		"late-write-comes-first",
		"check-before-work",
		"check-after-takeover",
		"stopped-between-check-and-delete",
		"work-longer-than-lease",
		"renewed-after-takeover",
		"cut-off-past-lease",
		"loss-noticed-late",
		"slow-grant",
		"grant-after-the-lease",
		"renewal-reply-lost",
		"release-lost-while-renewing",
		"acquire-reply-lost",
		"acquire-broken-off",
		"acquire-reply-lost-resent",
		"acquired-twice-by-retry",
		"release-reply-lost",
		"release-tried-again",
		"release-reply-lost-resent",
		"release-broken-off",
		"release-broken-off-clock-ahead",
		"late-acquire",
		"release-arrives-twice",
		"clock-ahead",
		"clock-behind",
		"clock-behind-waiting",
		"dead-holder-clock-ahead",
		"clock-set-ahead-while-refused",
		"clock-set-back-while-refused",
		"clock-set-back-in-acquire",
		"clock-set-back-while-renewing",
		"clock-set-back-amid-renewal",
		"waiting-clock-set-back",
		"contender-clock-runs-fast",
		"clock-runs-slow",
		"clock-runs-slightly-slow",
		"clock-runs-too-slow-to-renew",
		"server-clock-jumps",
		"server-clock-jumps-back",
		"both-clear-expired",
		"both-judge-expired",
		"both-read-nil",
		"woken-before-the-removal",
		"released-between-setnx-and-get",
		"released-between-get-and-getset",
		"nil-taken-for-expired",
		"late-takeover",
		"late-expire",
		"late-repair",
		"repair-aborts-release",
		"touched-while-released",
		"queue-order",
		"queued-client-killed",
		"queued-client-clock-ahead",
		"redis-down",
		"redis-down-amid-release",
		"redis-down-past-lease",
		"redis-restarts-empty",
		"fail-over-before-replication",
		"fail-over-after-replication",
		"fails-over-and-back",
		"replica-lags-past-renewals",
		"no-replica-acknowledges",
		"wait-and-the-right-replica",
		"wait-and-the-wrong-replica",
		"split-brain",
		"split-brain-while-held",
		"slot-migrates-while-held",
		"slot-migrates-amid-release",
		"slot-migrates-under-renewals",
		"slot-migrates-in-part",
		"min-replicas-refuses",
		"min-replicas-within-lag",
		"restart-amid-release",
		"majority-with-two-down",
		"one-of-three-down",
		"majority-down",
		"minority-hangs",
		"even-split",
		"release-with-one-unreachable",
		"pause-before-second-look",
		"clock-set-back-between-servers",
		"pause-after-second-look",
		"one-clock-jumps-of-five",
		"one-clock-jumps",
		"one-restarts-empty-of-five",
		"one-restarts-empty",
		"one-fails-over-of-three",
		"one-fails-over",
		"orphaned-node",
		"predecessor-gone",
		"missed-watch",
		"ensemble-server-unreachable",
		"ensemble-leader-killed",
		"ensemble-leader-cut-off",
		"ensemble-follower-cut-off",
		"ensemble-member-forgets",
		"ensemble-without-quorum",
		"herd", "chain", "time-over-in-the-queue",
		"asked-for-half-a-lease",
		"release-after-the-lease",
		"failed-release-keeps-renewing",
		"spent-retries",
		"one-process",
		"second-lock-not-renewed",
		"release-stops-another-watchdog",
		"failed-try-overwrites-token",
		"second-lock-overwrites-token",
		"surviving-watchdog",
		"acquired-again-after-loss",
		"renewal-after-release",
		"thread-dies-holding",
		"waiters-keep-the-connections",
		"second-thread-not-renewed",
		"renewal-answered-after-release",
		"last-item-two-requests",
		"flash-sale-two-instances",
		"flash-sale-one-stock",
		"market-two-buyers",
		"market-two-buyers-watch",
		"market-items-two-buyers",
		"market-items-one-purse",
	}
}
