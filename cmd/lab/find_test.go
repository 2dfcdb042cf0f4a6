package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/cmd/lab/internal/naming"
	"github.com/locklab/locklab/internal/find"
	"github.com/locklab/locklab/internal/report/format"
	"github.com/locklab/locklab/scenarios"
)

// phrase is something that a reader of an article may look for. One of the scenarios must be among the first three that lab find prints.
type phrase struct{ from, said, scenarios string }

// phrases are taken from the five articles, in their words or in the digest's, and from Kleppmann's and antirez's posts.
func phrases() []phrase {
	const (
		kleppmann = "Kleppmann, How to do distributed locking"
		antirez   = "antirez, Is Redlock safe?"
	)
	return []phrase{
		{"000", "SETNX 之后进程崩溃，锁没有过期时间，造成死锁", "holder-crashes crash-between-setnx-and-expire"},
		{"000", "C2 and C3 both read the old time stamp; C2 DEL, SETNX; C3 deletes C2's lock", "both-clear-expired"},
		{"000", "GETSET 覆盖了别人的锁", "both-judge-expired"},
		{"000", "nil from GETSET", "released-between-get-and-getset both-read-nil"},
		{"000", "各个客户端的时钟必须同步", "clock-ahead clock-behind"},
		{"000", "check before the critical step", "check-before-work checked-then-stopped check-after-takeover"},
		{"000", "秒杀 超卖 两个实例", "flash-sale-two-instances"},
		{"001", "release swallows exceptions and returns false", "release-broken-off release-reply-lost release-broken-off-clock-ahead"},
		{"001", "the wait is measured by the local wall clock", "waiting-clock-set-back"},
		{"002", "Redis分布式锁以及一种简单的锁时间自行延长的实现讨论", "renewal-reply-lost work-longer-than-lease slow-grant release-lost-while-renewing"},
		{"002", "看门狗给别人的锁续期", "surviving-watchdog renewal-after-release cut-off-past-lease failed-release-keeps-renewing renewed-after-takeover"},
		{"002", "a business thread that dies is renewed for ever", "thread-dies-holding"},
		{"003", "商品库存为1，此时两个请求同时到来，卖出了2个商品", "last-item-two-requests"},
		{"003", "设置值和设置过期时间不是原子性操作", "crash-between-setnx-and-expire"},
		{"003", "过期时间30s，A 35s 之后才释放锁，把B的锁删除了", "work-longer-than-lease stopped-between-check-and-delete"},
		{"003", "如果master节点故障了，发生主从切换，此时就会有可能出现锁丢失的问题", "fail-over-before-replication"},
		{"003", "每个客户端只监听前一个节点", "chain predecessor-gone"},
		{"003", "the watchdog ends with its process", "renewing-holder-killed"},
		{"004", "TTL is -1: the contender sets EXPIRE itself", "late-repair crash-between-setnx-and-expire"},
		{kleppmann, "stop-the-world GC pause while holding the lock", "pause-past-lease"},
		{kleppmann, "the storage server rejects the write with token 33", "pause-past-lease late-write-comes-first"},
		{kleppmann, "the clock on node C jumps forward, causing the lock to expire", "one-clock-jumps"},
		{kleppmann, "client 1 goes into stop-the-world GC while the responses are in flight", "pause-before-second-look"},
		{kleppmann, "Redis uses gettimeofday, not a monotonic clock", "server-clock-jumps"},
		{kleppmann, "node C crashes before persisting the lock to disk, and immediately restarts", "one-restarts-empty"},
		{antirez, "a pause after the majority was acquired and the elapsed time was checked", "pause-after-second-look"},
		{antirez, "large network delay before the reply", "grant-after-the-lease"},
		{antirez, "the system administrator manually alters the clock", "one-clock-jumps server-clock-jumps"},
		{antirez, "random unique token: only the client that set it releases the lock", "stopped-between-check-and-delete"},
		{"words of users", "failover", "fail-over-before-replication"},
		{"words of users", "master", "fail-over-before-replication"},
		{"words of users", "replica", "fail-over-before-replication"},
		{"words of users", "Kleppmann", "pause-past-lease"},
		{"words of users", "oversell", "last-item-two-requests"},
		{"words of users", "expired", "both-clear-expired both-judge-expired"},
		{"words of users", "renew", "renewed-after-takeover renewal-reply-lost"},
		{"words of users", "watchdog dies", "renewal-reply-lost thread-dies-holding"},
		{"words of users", "GETSET", "both-judge-expired"},
		{"words of users", "race", "both-clear-expired"},
		{"words of users", "锁", "pause-past-lease"},
		{"words of users", "超卖", "last-item-two-requests"},
	}
}

// TestPhrasesFindTheirScenario looks for phrases as a user does. The screens have at most 80 columns, and the first hit's command is one that the lab can carry out.
func TestPhrasesFindTheirScenario(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, p := range phrases() {
		t.Run(p.said, func(t *testing.T) {
			screen := foundScreen(t, p.said)
			var names []string
			for line := range strings.Lines(screen) {
				assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, line)
				if !strings.HasPrefix(line, " ") {
					names = append(names, strings.TrimSpace(line))
				}
			}
			require.LessOrEqual(t, len(names), 8)
			right := func(name string) bool { return slices.Contains(strings.Fields(p.scenarios), name) }
			assert.True(t, slices.ContainsFunc(names[:min(3, len(names))], right), "%s: %v", p.from, names)
		})
	}
}

func foundScreen(t *testing.T, words string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := carryOut(t.Context(), []string{"find", words}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, cli.CodeExpected, code, stderr.String())
	return stdout.String()
}

// TestCommandsOfHits: whatever lab find prints as a command is one that lab run takes, for every scenario.
func TestCommandsOfHits(t *testing.T) {
	index, err := find.Builtin()
	require.NoError(t, err)
	scripts, err := scenarios.Builtin()
	require.NoError(t, err)
	for _, script := range scripts {
		hit := index.Find(script.Name)[0]
		require.Equal(t, script.Name, hit.Scenario)
		cmd, args, err := newRoot().Find(strings.Fields(hit.Command))
		require.NoError(t, err)
		require.NoError(t, cmd.ParseFlags(args), hit.Command)
		if len(hit.Locks) > 0 {
			locks, err := cmd.Flags().GetStringSlice("lock")
			require.NoError(t, err)
			_, err = naming.Subjects(locks)
			assert.NoError(t, err, hit.Command)
		}
	}
}

// A word in the place of a scenario, or of a run, leads to the scenario that lab find finds.
func TestUnknownNamesLeadToTheScenario(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct{ command, word, scenario string }{
		{"run", "kleppmann", "pause-past-lease"},
		{"run", "failover", "fail-over-before-replication"},
		{"explain", "oversold", "last-item-two-requests"},
		{"explain", "超卖", ""},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, cli.CodeUsage, carryOut(t.Context(), []string{test.command, test.word}, strings.NewReader(""), &stdout, &stderr))
		assert.Contains(t, stderr.String(), `"`+test.word+`"`)
		assert.Contains(t, strings.ToLower(stderr.String()), "did you mean")
		assert.Contains(t, stderr.String(), "\nlab:   "+test.scenario)
		if test.command == "explain" {
			assert.Contains(t, stderr.String(), " explain "+test.scenario)
		}
		for line := range strings.Lines(stderr.String()) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), format.UsualWidth+1, line)
		}
	}
	for word, said := range map[string]string{
		"no/kleppmann":   "no run there: no/kleppmann",
		"kleppmann.json": "no run there: kleppmann.json",
		"xyzzy":          `no run and no name "xyzzy"`,
		"failover":       `no run and no name "failover"; did you mean "fail-over"?`,
		"wrongful-delet": `did you mean "wrongful-delete"?`,
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, cli.CodeUsage, carryOut(t.Context(), []string{"explain", word}, strings.NewReader(""), &stdout, &stderr))
		assert.Contains(t, stderr.String(), said)
	}
}
