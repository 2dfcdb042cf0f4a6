package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
)

// Each file of testdata/errors is a script that somebody got wrong, and what they are told.
func TestErrorsTellWhatWasMeant(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^-- (.+) --\n`)
	files, err := filepath.Glob("testdata/errors/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			story, err := os.ReadFile(file)
			require.NoError(t, err)
			parts, name := heading.Split(string(story), -1), heading.FindStringSubmatch(string(story))
			require.Len(t, parts, 3, "a story, its script, and the errors")
			_, err = Parse(name[1], []byte(parts[1]))
			require.Error(t, err)
			assert.Equal(t, strings.TrimSpace(parts[2]), err.Error())
		})
	}
}

func TestParseReadsEveryStep(t *testing.T) {
	const head = "lease 1s\nclients C1 C2\nC2 acquire\n"
	for text, want := range map[string]Step{
		"C1 acquire":                      {Verb: VerbOp, Op: history.OpAcquire},
		"C1 acquire within 3 leases":      {Verb: VerbOp, Op: history.OpAcquire, Within: Span{Leases: 3}},
		"C1 acquire within 1 lease":       {Verb: VerbOp, Op: history.OpAcquire, Within: Span{Leases: 1}},
		"C1 acquire, within 2s => ok|no ": {Verb: VerbOp, Op: history.OpAcquire, Within: Span{Fixed: 2 * time.Second}, Want: []Result{ResultOK, ResultNo}},
		"C1 acquire hold before first DEL => held-up": {
			Verb: VerbOp, Op: history.OpAcquire, Want: []Result{ResultHeldUp},
			Breakpoints: []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchCommand, Command: "DEL"}}},
		},
		"C1 acquire drop reply of second removal, hold reply of ninth write duplicate third request": {
			Verb: VerbOp, Op: history.OpAcquire,
			Breakpoints: []faults.Breakpoint{
				{Action: faults.ActDropReply, Nth: 2, Match: faults.Match{Kind: faults.MatchRemoval}}, {Action: faults.ActHoldReply, Nth: 9, Match: faults.Match{Kind: faults.MatchWrite}}, {Action: faults.ActDuplicate, Nth: 3, Match: faults.Match{Kind: faults.MatchAny}},
			},
		},
		"C2 release":                          {Verb: VerbOp, Op: history.OpRelease},
		"C2 renew":                            {Verb: VerbOp, Op: history.OpRenew},
		"C2 check => no":                      {Verb: VerbOp, Op: history.OpCheck, Want: []Result{ResultNo}},
		"C2 work # comment":                   {Verb: VerbOp, Op: history.OpWork},
		"C1 crash":                            {Verb: VerbCrash},
		"C1 thread dies":                      {Verb: VerbThreadDies},
		"C1 takes in the reply => done":       {Verb: VerbTakesIn, Want: []Result{ResultDone}},
		"C1 waits until lost => no":           {Verb: VerbWaitsLost, Want: []Result{ResultNo}},
		"C1 waits => done":                    {Verb: VerbWaits, Want: []Result{ResultDone}},
		"wait until renewed => ok":            {Verb: VerbWaitRenewed, Want: []Result{ResultOK}},
		"C1 clock ahead 2s":                   {Verb: VerbClock, Span: Span{Fixed: 2 * time.Second}, Rate: 1},
		"C1 clock behind 1.5 leases":          {Verb: VerbClock, Span: Span{Leases: -1.5}, Rate: 1},
		"C1 clock rate 1.5":                   {Verb: VerbClock, Rate: 1.5},
		"C1 clock right":                      {Verb: VerbClock, Rate: 1},
		"C1 delay 20ms":                       {Verb: "delay", Span: Span{Fixed: 20 * time.Millisecond}},
		"wait until expired => live":          {Verb: VerbWaitExpired, Want: []Result{ResultLive}},
		"  wait until freed":                  {Verb: VerbWaitFreed},
		"\tserver clock jumps 2 leases":       {Verb: VerbServerJump, Span: Span{Leases: 2}},
		"\tserver clock jumps back 3s":        {Verb: VerbServerJump, Span: Span{Fixed: -3 * time.Second}},
		"server restarts empty":               {Verb: VerbRestart},
		"server saves":                        {Verb: VerbSave},
		"server holds back one replica":       {Verb: VerbHoldBack},
		"server fails over without C1":        {Verb: VerbSplit, Without: []string{"C1"}},
		"server demotes the old primary":      {Verb: VerbDemote},
		"server requires a replica":           {Verb: VerbRequireReplica},
		"wait until writes are refused => ok": {Verb: VerbWaitRefused, Want: []Result{ResultOK}},
		"server goes down => done":            {Verb: VerbGoesDown, Want: []Result{ResultDone}},
		"server comes back":                   {Verb: VerbComesBack},
		"wait 2s":                             {Verb: VerbWaitFor, Span: Span{Fixed: 2 * time.Second}},
		"wait 1.5 leases":                     {Verb: VerbWaitFor, Span: Span{Leases: 1.5}},
		"on whichever server restarts empty":  {Verb: VerbRestart, Servers: []string{Whichever}},
		"operator limits lock to 20s":         {Verb: VerbOperator, Span: Span{Fixed: 20 * time.Second}},
	} {
		t.Run(text, func(t *testing.T) {
			p := &parser{script: &Script{}, wrong: complaints{file: "x.lab"}, seen: map[string]int{}}
			p.parse(splitLines([]byte(head+text), &p.wrong))
			require.NoError(t, p.wrong.err())
			got := p.script.Steps[1]
			assert.Equal(t, 4, got.Line)
			assert.Equal(t, strings.TrimSpace(strings.TrimSuffix(text, "# comment")), got.Text)
			if strings.HasPrefix(text, "C") {
				want.Client = text[:2]
			}
			want.Line, want.Text = got.Line, got.Text
			assert.Equal(t, want, got)
		})
	}
}

func TestParseReadsWhatHappensToALink(t *testing.T) {
	script, err := Parse("dir/links.lab", []byte(`
#
# Links.
#
#   Indented.
source   redis/redis#416  # the # of a thread is no comment
lease    90s
clients  C1, C2
needs    lease no-resend

C1  cut off
C1  heal
C1  cut off requests
C1  heal
C1  cut off replies
C1  heal
C1  refuse
C1  heal
C1  lose replies
C1  heal
C2  pause
C2  cut off
C2  heal
C2  resume
C2  acquire in background
C2  give up => unknown
C1  acquire hold reply of first write => held-up
C1  give up
C1  continue => done
`))
	require.NoError(t, err)
	assert.Equal(t, "dir/links.lab", script.Path)
	assert.Equal(t, "links", script.Name)
	assert.Equal(t, "Links.", script.Title)
	assert.Equal(t, []string{"", "  Indented."}, script.About)
	assert.Equal(t, "redis/redis#416", script.Source)
	assert.Equal(t, 90*time.Second, script.Lease)
	assert.Equal(t, []string{"C1", "C2"}, script.Clients)
	assert.Equal(t, []Need{NeedsLease, NeedsNoResend}, script.Needs)
	assert.Equal(t, faults.Requests, script.Steps[2].Direction)
	assert.Equal(t, faults.Replies, script.Steps[4].Direction)
}

func TestParseRefusesWhatIsNoText(t *testing.T) {
	for name, c := range map[string]struct {
		src  []byte
		want string
	}{
		"binary":        {[]byte("\x7fELF\x00"), "is no text"},
		"not UTF-8":     {[]byte("C\xff"), "is no text"},
		"escape codes":  {[]byte("C1 \x1b[31macquire"), "is no text"},
		"a long line":   {bytes.Repeat([]byte("C"), maxLine+1), "is too long"},
		"a long file":   {bytes.Repeat([]byte("#\n"), maxSource), "the file is too long"},
		"many steps":    {[]byte("lease 1s\nclients C1\n" + strings.Repeat("C1 delay 1ms\n", maxSteps+1)), "more than 500 steps"},
		"many clients":  {[]byte("clients " + strings.Repeat("C ", maxClients+1)), "17 clients are too many"},
		"many traps":    {[]byte("clients C1\nC1 acquire" + strings.Repeat(" duplicate first DEL", maxBreakpoints+1)), "more than 9 breakpoints"},
		"many mistakes": {[]byte("clients C1\n" + strings.Repeat("?\n", 1000)), "x.lab:22: there are more errors below"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.lab", c.src)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func TestParseTakesWindowsFiles(t *testing.T) {
	script, err := Parse(`C:\labs\race.lab`, []byte("\uFEFF# Title\r\nlease 1s\r\nclients C1\r\nC1 acquire\r\n"))
	require.NoError(t, err)
	assert.Equal(t, "race", script.Name)
	assert.Equal(t, "Title", script.Title)
	assert.Equal(t, "C1 acquire", script.Steps[0].Text)
}

func TestParseErrorsCanBeLookedInto(t *testing.T) {
	_, err := Parse("x.lab", []byte("lease 1s\nclients C1\nC1 fly\nC1 swim"))
	var all Errors
	require.ErrorAs(t, err, &all)
	assert.Len(t, all, 2)
	var first ParseError
	require.ErrorAs(t, fmt.Errorf("reading: %w", err), &first)
	assert.Equal(t, 3, first.Line)
}

func TestParseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.lab")
	require.NoError(t, os.WriteFile(path, []byte("lease 1s\nclients C1\nC1 acquire\n"), 0o600))
	script, err := ParseFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", script.Name)
	_, err = ParseFile(path + "x")
	assert.True(t, errors.Is(err, os.ErrNotExist))
}

func TestReadFileBounds(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long.lab")
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, 1<<40)) // it takes no room on the disk, but memory if it is read
	_, err := ParseFile(long)
	assert.ErrorContains(t, err, long+":1: the file is too long; at most 1048576 bytes are read")

	_, err = ParseFile(os.DevNull)
	assert.EqualError(t, err, "read "+os.DevNull+": not a regular file")
}

func TestSlowerScriptTellsTheSameStory(t *testing.T) {
	script, err := Parse("s.lab", []byte("# T.\nlease 2s\nclients C1\nC1 clock ahead 500ms\nC1 clock behind 3 leases\nC1 acquire within 1s => ok\n"))
	require.NoError(t, err)
	slower := script.Slower(4)
	require.Equal(t, 8*time.Second, slower.Lease)
	require.Equal(t, 2*time.Second, slower.Steps[0].Span.Of(slower.Lease))
	require.Equal(t, -24*time.Second, slower.Steps[1].Span.Of(slower.Lease))
	require.Equal(t, 4*time.Second, slower.Steps[2].Within.Of(slower.Lease))
	require.Equal(t, 500*time.Millisecond, script.Steps[0].Span.Fixed, "the script itself is left as it is")
}

// TestFormerNames asserts that names which anomalies had before are still read.
func TestFormerNames(t *testing.T) {
	script, err := Parse("old.lab", []byte("lease 1s\nclients C1\nexpect setpx-lua-published no-return\nC1 acquire"))
	require.NoError(t, err)
	require.Equal(t, []checker.Name{checker.HungOperation}, script.Expect.Anomalies)
	matrix, err := ParseExpected("old.txt", []byte("take-turns setpx-lua-published no-return\n"))
	require.NoError(t, err)
	expected, _ := matrix.Lookup("take-turns", "setpx-lua-published")
	require.Equal(t, "hung-operation", expected.String())
}

// TestTextThatShowsOtherWords: lab show prints scripts, and errors quote them.
func TestTextThatShowsOtherWords(t *testing.T) {
	for _, odd := range []string{"\x1b[2J", "\u009b2J", "\x00", "\u202e", "\u2066", "\xff"} {
		src := "# a title\nlease 1s\nclients C1\nC1 acquire # " + odd + "\n"
		_, err := Parse("odd.lab", []byte(src))
		require.ErrorContains(t, err, "odd.lab:4: this is no text", "%q", odd)
		_, err = ParseExpected("odd.txt", []byte("take-turns  setpx-lua  n/a: "+odd+"\n"))
		require.ErrorContains(t, err, "odd.txt:1: this is no text", "%q", odd)
	}
}
