package impls_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

func TestCardsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, spec := range impls.All() {
		t.Run(spec.Name, func(t *testing.T) {
			assert.Regexp(t, `^[a-z0-9-]+$`, spec.Name)
			assert.False(t, seen[spec.Name], "two locks of this name")
			seen[spec.Name] = true
			assert.NotEmpty(t, spec.Idea)
			assert.Contains(t, spec.Source, "article")
			assert.Contains(t, spec.Promises, impls.MutualExclusion)
			assert.Equal(t, spec.Name == "local" || spec.Name == "none", spec.Needs == impls.NoServer)
			several := spec.Needs == impls.MostServers || spec.Needs == impls.EveryServer
			assert.Equal(t, several, spec.Servers > 1)
			found, ok := impls.Find(spec.Name)
			assert.True(t, ok)
			assert.Equal(t, spec.Card, found.Card)
		})
	}
	_, ok := impls.Find("nothing")
	assert.False(t, ok)
	for _, spec := range impls.OnReplicas() {
		assert.Equal(t, impls.Replicas, spec.Needs, spec.Name)
		assert.False(t, seen[spec.Name], spec.Name)
	}
	for _, spec := range impls.OnCluster() {
		assert.Equal(t, impls.Masters, spec.Needs, spec.Name)
		assert.False(t, seen[spec.Name], spec.Name)
	}
}

func TestWhatLocksCanDo(t *testing.T) {
	names := func(can func(impls.Spec) bool) []string {
		var names []string
		for _, spec := range impls.All() {
			if can(spec) {
				names = append(names, spec.Name)
			}
		}
		return names
	}
	assert.Empty(t, names(impls.Spec.CanRenew))
	assert.Len(t, names(is[impls.Stateful]), len(impls.All()))
	assert.Equal(t, []string{"watchdog", "redlock-no-second-look", "redlock"}, names(is[impls.Limited]))
	assert.Equal(t, []string{"fenced"}, names(is[impls.Fencer]))
	assert.Equal(t, []string{"redisson-lease", "redisson-published", "redisson", "redisson-fair"}, names(is[impls.Waker]))
	assert.Equal(t, []string{
		"local", "getset", "getset-nil-expired", "getset-nil-lost", "getset-published", "setpx-lua", "redisson-watchdog", "fenced",
		"setpx-lua-resend",
	}, names(impls.Spec.CanCheck))
	assert.Equal(t, []string{"none", "local", "setnx-del", "setnx-watch", "setnx-watch-published"},
		names(func(s impls.Spec) bool { return s.Leaseless }))
	assert.Equal(t, []string{
		"watchdog-published", "redisson-watchdog", "watchdog", "redisson-published", "redisson", "redisson-fair",
		"redisson-multilock", "redisson-redlock", "redisson-fair-redlock",
	}, names(func(s impls.Spec) bool { return s.Renews }))
}

func is[T any](s impls.Spec) bool {
	_, ok := s.New(nil, impls.Options{}).(T)
	return ok
}

func TestSingleBugs(t *testing.T) {
	for _, spec := range impls.All() {
		for _, bug := range spec.Bugs {
			assert.Regexp(t, `^[a-z-]+$`, bug.Name)
			single, ok := impls.Find(spec.Name + "/" + bug.Name)
			require.True(t, ok, bug.Name)
			assert.Equal(t, spec.Name+"/"+bug.Name, single.Name)
			assert.Equal(t, bug.What, single.Bug)
			assert.NotNil(t, single.New(nil, impls.Options{}))
		}
	}
	two, ok := impls.Find("getset-published/local-check+lost-retry")
	assert.True(t, ok)
	assert.Equal(t, "getset-published/local-check+lost-retry", two.Name)
	for _, name := range []string{"getset/local-check", "getset-published/", "getset-published/blind", "nothing/blind"} {
		_, ok := impls.Find(name)
		assert.False(t, ok, name)
	}
}

func TestClassify(t *testing.T) {
	tests := []struct {
		err  error
		want history.Outcome
	}{
		{nil, history.OutcomeNone},
		{impls.ErrorReply("ERR unknown command 'SETNY'", false), history.No},
		{impls.ErrorReply("WRONGTYPE Operation against a key", false), history.No},
		{fmt.Errorf("at DEL: %w", impls.ErrorReply("READONLY You can't write", false)), history.No},
		{impls.ErrorReply("NOSCRIPT No matching script", true), history.No},
		{impls.ErrorReply("LOADING Redis is loading", true), history.No},
		{impls.ErrorReply("WRONGTYPE Operation against a key", true), history.Unknown},
		{impls.ErrorReply("ERR user_script:1: x", true), history.Unknown},
		{impls.ErrorReply("MY own", true), history.Unknown},
		{context.Canceled, history.Unknown},
		{context.DeadlineExceeded, history.Unknown},
		{errors.New("connection reset by peer"), history.Unknown},
		{fmt.Errorf("in acquire: %w", impls.Exception("null pointer")), history.No},
	}
	for _, test := range tests {
		assert.Equal(t, test.want, impls.Classify(test.err), "%v", test.err)
	}
	assert.Equal(t, history.OK, impls.Outcome(true, nil))
	assert.Equal(t, history.No, impls.Outcome(false, nil))
	assert.Equal(t, history.Unknown, impls.Outcome(true, context.Canceled))
}

func TestScriptIsNamedAsRedisNamesIt(t *testing.T) {
	script := &impls.Script{Source: "return 1"}
	assert.Equal(t, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", script.SHA())
}
