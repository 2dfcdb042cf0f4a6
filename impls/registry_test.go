package impls_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

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
			assert.Equal(t, impls.OneServer, spec.Needs)
			found, ok := impls.Find(spec.Name)
			assert.True(t, ok)
			assert.Equal(t, spec.Card, found.Card)
		})
	}
	_, ok := impls.Find("redlock")
	assert.False(t, ok)
}

func TestWhatLocksCanDo(t *testing.T) {
	for _, spec := range impls.All() {
		assert.False(t, spec.CanRenew(), spec.Name)
		assert.Equal(t, spec.Name == "watchdog", spec.DeclaresValidity(), spec.Name)
		checks := map[string]bool{"getset": true, "setpx-lua": true, "setpx-lua-resend": true}
		assert.Equal(t, checks[spec.Name], spec.CanCheck(), spec.Name)
		assert.Equal(t, spec.Name == "setnx-del", spec.Leaseless, spec.Name)
		assert.Equal(t, spec.Name == "watchdog", spec.Renews, spec.Name)
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
