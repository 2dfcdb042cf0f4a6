package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

func TestParseReadsServers(t *testing.T) {
	const head = "lease 1s\nclients C1\nservers 5\nneeds majority\n"
	for text, want := range map[string]Step{
		"S2 restarts empty":              {Verb: VerbRestart, Servers: []string{"S2"}},
		"S5 clock jumps back 2 leases":   {Verb: VerbServerJump, Servers: []string{"S5"}, Span: Span{Leases: -2}},
		"S5 clock jumps 3s":              {Verb: VerbServerJump, Servers: []string{"S5"}, Span: Span{Fixed: 3 * time.Second}},
		"server restarts empty":          {Verb: VerbRestart},
		"C1 cut off from S4 S5":          {Verb: VerbCutOff, Client: "C1", Servers: []string{"S4", "S5"}},
		"C1 cut off replies from S1":     {Verb: VerbCutOff, Client: "C1", Direction: faults.Replies, Servers: []string{"S1"}},
		"C1 refuse S5":                   {Verb: "refuse", Client: "C1", Servers: []string{"S5"}},
		"C1 lose replies from S3":        {Verb: VerbLoseReplies, Client: "C1", Servers: []string{"S3"}},
		"C1 delay 20ms to S1, S2":        {Verb: "delay", Client: "C1", Servers: []string{"S1", "S2"}, Span: Span{Fixed: 20 * time.Millisecond}},
		"C1 acquire":                     {Verb: VerbOp, Client: "C1", Op: history.OpAcquire},
		"C1 acquire duplicate first SET": {Verb: VerbOp, Client: "C1", Op: history.OpAcquire, Breakpoints: []faults.Breakpoint{{Action: faults.ActDuplicate, Nth: 1, Match: faults.Match{Kind: faults.MatchCommand, Command: "SET"}}}},
		"C1 acquire duplicate first write on S3": {
			Verb: VerbOp, Client: "C1", Op: history.OpAcquire, Breakpoints: []faults.Breakpoint{{Action: faults.ActDuplicate, Nth: 1, Match: faults.Match{Kind: faults.MatchWrite}, Server: "S3"}},
		},
	} {
		t.Run(text, func(t *testing.T) {
			p := &parser{script: &Script{}, wrong: complaints{file: "x.lab"}, seen: map[string]int{}}
			p.parse(splitLines([]byte(head+text), &p.wrong))
			require.NoError(t, p.wrong.err())
			assert.Equal(t, 5, p.script.Servers)
			assert.Equal(t, []Need{NeedsMajority}, p.script.Needs)
			want.Line, want.Text = 5, text
			assert.Equal(t, want, p.script.Steps[0])
		})
	}
}

func TestFormatServers(t *testing.T) {
	script, err := Parse("x.lab", []byte("clients C1\nlease 1s\nservers 3\n C1 cut off requests from S2\nS1 clock jumps 1 lease\n"+
		"C1 acquire hold before first write on S3 => held-up\nC1 delay 1s to S1\nC1 refuse S3\nC1 continue\nS2 restarts empty\nC1 heal S2 S3\n"))
	require.NoError(t, err)
	assert.Equal(t, `lease    1s
clients  C1
servers  3

C1  cut off requests from S2
S1  clock jumps 1 lease
C1  acquire hold before first write on S3 => held-up
C1  delay 1s to S1
C1  refuse S3
C1  continue
S2  restarts empty
C1  heal S2 S3
`, string(Format(script)))
}

// A client may be called S1 where the script does not say how many servers there are.
func TestClientsWithTheNameOfAServer(t *testing.T) {
	_, err := Parse("x.lab", []byte("lease 1s\nclients S1 C1\nS1 acquire\nC1 acquire"))
	require.NoError(t, err)
	for _, headers := range []string{"clients S1 C1\nservers 2", "servers 2\nclients S1 C1"} {
		_, err := Parse("x.lab", []byte("lease 1s\n"+headers+"\nC1 acquire"))
		assert.ErrorContains(t, err, `x.lab:3: a client cannot be called "S1", because a server is called so`)
	}
	_, err = Parse("x.lab", []byte("lease 1s\nclients S3 C1\nservers 2\nS3 acquire\nC1 acquire"))
	require.NoError(t, err)
}
