package impls_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// Whatever a lock is told, it sends no command in an acquire or a release that its card does not list.
func TestCardsListWhatIsSent(t *testing.T) {
	replies := []exchange{
		{reply: nil}, {reply: "OK"}, {reply: one}, {reply: zero}, {reply: int64(-1)}, {reply: "t1"}, {reply: mine(1, 0)},
		{reply: mine(1, -time.Hour)}, {reply: "1"}, {err: errLost}, {err: errRefused}, {reply: []any{one}},
	}
	for _, spec := range impls.All() {
		t.Run(spec.Name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				env := newFake(t, rapid.SliceOfN(rapid.SampledFrom(replies), 0, 12).Draw(r, "replies")...)
				l := spec.New(env, impls.Options{Key: "k", Lease: 900 * time.Millisecond})
				for _, op := range rapid.SliceOfN(rapid.SampledFrom([]history.Op{history.OpAcquire, history.OpRelease}), 1, 4).Draw(r, "ops") {
					before := len(env.sent)
					do := l.TryAcquire
					if op == history.OpRelease {
						do = l.Release
					}
					_, _ = do(t.Context()) // only what it sends matters here
					for _, sent := range env.sent[before:] {
						command, _, _ := strings.Cut(sent, " ")
						require.Contains(r, spec.Sends[op], command, "%v sends %s", op, sent)
					}
				}
			})
		})
	}
}
