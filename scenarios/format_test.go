package scenarios

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/locklab/locklab/faults"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// substance is a script without what Format does not keep: where it lay and how it was laid out.
func substance(s *Script) Script {
	plain := *s
	plain.Path, plain.Name, plain.Builtin = "", "", false
	plain.Steps = slices.Clone(s.Steps)
	for i := range plain.Steps {
		plain.Steps[i].Line, plain.Steps[i].Text = 0, ""
	}
	return plain
}

func TestFormatKeepsTheBuiltinScripts(t *testing.T) {
	for _, s := range builtin(t) {
		again, err := Parse(s.Path, Format(s))
		require.NoError(t, err, "%s", Format(s))
		assert.Equal(t, substance(s), substance(again))
		assert.Equal(t, string(Format(s)), string(Format(again)))
	}
}

func TestFormatIsCanonical(t *testing.T) {
	script, err := Parse("x.lab", []byte(`#Title
#   more
clients C1,Bob
lease 60s
expect getset overwrite early-grant
Bob acquire duplicate first write drop reply of second DEL in background within 1.50 leases
Bob  give up=>unknown|no
Bob release within 1s   anyway
  wait   until freed  # at last
C1 clock behind 1 leases
C1 clock rate 1
C1 cut off  requests
C1 heal
`))
	require.NoError(t, err)
	assert.Equal(t, `# Title
#   more
lease    1m
clients  C1 Bob
expect   getset overwrite, early-grant

Bob  acquire within 1.5 leases in background duplicate first write, drop reply of second DEL
Bob  give up => unknown | no
Bob  release anyway within 1s
     wait until freed
C1   clock behind 1 lease
C1   clock right
C1   cut off requests
C1   heal
`, string(Format(script)))
}

// A script of steps drawn at random, as far as they make a story, survives Format.
func TestFormatRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := drawScript(t)
		script, err := Parse("x.lab", []byte(src))
		require.NoError(t, err, "%s", src)
		again, err := Parse("x.lab", Format(script))
		require.NoError(t, err, "%s\nwas\n%s", Format(script), src)
		require.Equal(t, substance(script), substance(again))
	})
}

// A script of steps drawn at random is either refused with errors that name the file, or survives Format.
func TestParseNeverFailsWithoutWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.OneOf(rapid.Custom(drawStep), rapid.StringMatching(`[ -~]{0,40}`))).Draw(t, "lines")
		_, err := Parse("x.lab", []byte(strings.Join(lines, "\n")))
		require.Error(t, err, "there is no lease")
		for line := range strings.SplitSeq(err.Error(), "\n") {
			require.Regexp(t, `^x\.lab:\d+: .+`, line)
		}
	})
}

func drawScript(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.StringMatching(`# ?[ -~äö]{0,40}`), 0, 3).Draw(t, "comment")
	lease := time.Duration(rapid.Int64Range(int64(minLease), int64(maxLease/2)).Draw(t, "lease"))
	lines = append(lines, "lease "+lease.String(), "clients C1 C1.b C1/2 C2", "servers 3")
	if other := rapid.SampledFrom([]string{"", "C1.b", "C1/2", "C2 C1"}).Draw(t, "other"); other != "" {
		lines = append(lines, "other-key "+other)
	}
	if source := rapid.StringMatching(`[ -~]{0,40}`).Draw(t, "source"); withoutComment("source "+source) == "source "+source && strings.Trim(source, " ,") != "" {
		lines = append(lines, "source "+source)
	}
	if work := rapid.SampledFrom([]string{"", "stock", "stock 1", "flash-sale 100", "ledger", "counter"}).Draw(t, "workload"); work != "" {
		lines = append(lines, "workload "+work)
	}
	return strings.Join(append(lines, drawStory(t, lease)...), "\n")
}

// drawStory leaves out drawn steps that make no sense after those before, and ends what was begun.
func drawStory(t *rapid.T, lease time.Duration) []string {
	var lines []string
	p := &parser{script: &Script{Clients: []string{"C1", "C2"}, Handles: []string{"C1.b", "C1/2"}, Servers: 3}}
	one, two := &host{name: "C1", links: linksTo(3)}, &host{name: "C2", links: linksTo(3)}
	cast := map[string]*actor{"C1": {name: "C1", host: one}, "C1.b": {name: "C1.b", host: one}, "C1/2": {name: "C1/2", host: one}, "C2": {name: "C2", host: two}, "": {host: &host{}}}
	cast["C1"].beside, cast["C1.b"].beside = []*actor{cast["C1.b"]}, []*actor{cast["C1"]}
	copies := saved{}
	parted := newInterludes()
	off := &downtime{servers: ServerNames(3), actors: []*actor{cast["C1"], cast["C1.b"], cast["C1/2"], cast["C2"]}, since: map[effect]int{}}
	steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 40).Draw(t, "steps")
	for _, text := range append([]string{"C1.b acquire", "C1/2 acquire"}, steps...) { // so that they do something before its process may crash
		step, err := p.step(line{number: len(lines) + 1, text: text})
		if err != nil || checkStep(step, lease) != nil || parted.check(step) != nil || off.act(step) != nil || copies.act(step, 3) != nil {
			continue
		}
		parted.follow(step)
		who := *cast[step.Client]
		where := *who.host
		where.links = slices.Clone(where.links)
		if step.Client == "" || who.act(step) == nil {
			*cast[step.Client] = who
			lines = append(lines, text)
			continue
		}
		*who.host = where
	}
	for _, on := range slices.SortedFunc(maps.Keys(off.since), func(a, b effect) int { return cmp.Compare(a.server, b.server) }) {
		lines = append(lines, on.server+" "+on.kind.Of().Ends)
	}
	for _, name := range p.script.Actors() {
		who := cast[name]
		own := who.name == who.host.name
		for _, end := range []struct {
			when bool
			text string
		}{
			{own && who.host.paused > 0, "resume"}, {own && slices.ContainsFunc(who.host.links, func(l link) bool { return l.line > 0 }), "heal"},
			{who.late > 0 && who.pending != nil && who.host.crashed == 0, "arrives late"}, {who.pending != nil && who.host.crashed == 0, "give up"}, {own && !who.appeared && who.host.crashed == 0, "pause\n" + name + " resume"},
		} {
			if end.when {
				lines = append(lines, name+" "+end.text)
			}
		}
	}
	return lines
}

func drawStep(t *rapid.T) string {
	one := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	amount := one("amount", "20ms", "2s", "1h1m0.5s", "3 leases", "0.25 leases", "1 lease")
	if rapid.Bool().Draw(t, "lab") {
		return one("step", "wait until expired => live", " wait until freed=>ok|no", "wait until renewed", "wait until half over", "server clock jumps "+amount,
			"server restarts empty => done", "S2 clock jumps "+amount, "S3 restarts empty => done", "server holds back one replica", "server fails over to the one held back", "server fails over to the other one => done", "server fails over without C2", "server demotes the old primary", "server requires a replica", "wait until writes are refused => ok | no", "server goes down", "server comes back", "S2 goes down => done", "S2 comes back", "server saves", "server restarts as saved", "server restarts as saved "+amount+" ago", "S1 saves => done", "S1 restarts as saved", "S1 restarts as saved "+amount+" ago", "operator limits lock to "+amount)
	}
	nth := rapid.SampledFrom(faults.Ordinals()).Draw(t, "nth") + " "
	options := rapid.SliceOfN(rapid.SampledFrom([]string{
		"", ",", "in background", "anyway", "if unknown", "within " + amount,
		"hold before " + nth + "DEL", "hold reply of " + nth + "write", "drop reply of " + nth + "removal", "duplicate " + nth + "request",
		"hold before " + nth + "write on S2",
	}), 0, 3).Draw(t, "options")
	op := one("op", "acquire", "release", "renew", "check", "work") + " " + strings.Join(options, " ")
	verb := one("verb", op, op, "await", "continue", "continue in background", "give up", "times out", "waits", "waits until lost", "takes in the reply", "pause", "resume", "crash", "thread dies", "renews hold reply of "+nth+"write", "clock ahead "+amount, "clock behind "+amount,
		"clock rate 0.5", "clock right", "cut off", "cut off replies", "refuse", "delay "+amount, "lose replies", "heal",
		"cut off from S1 S3", "cut off requests from S2", "refuse S3", "delay "+amount+" to S2", "lose replies from S1", "heal S1", "heal S2 S3")
	return one("client", "C1", "C1.b", "C1/2", "C2") + " " + verb + one("want", "", "", " => ok", " => held-up", " => unknown | no", " => done")
}

func FuzzParse(f *testing.F) {
	for _, name := range order() {
		src, err := scripts.ReadFile("scripts/" + name + suffix)
		require.NoError(f, err)
		f.Add(src)
	}
	f.Add([]byte("lease 1s\nclients C1 C1.b C2\nother-key C1.b\nC1.b acquire hold before first SET\nC1.b continue in background\nC1.b await\nC1.b thread dies\nC1 release within 1.5 leases"))
	f.Add([]byte("lease 1s\nclients C1\nservers 5\nC1 cut off replies from S4 S5\nC1 acquire hold before first write on S3 => held-up\n" +
		"S2 restarts empty\nS3 clock jumps 3s\nC1 delay 20ms to S1\nC1 heal S5\nC1 continue\nC1 heal"))
	f.Add([]byte("lease 1s\nclients C1\nservers 3\nC1 acquire hold before first SET on S3, hold reply of first SET on S3 => held-up\n" +
		"C1 pause\nC1 continue => held-up\nC1 resume\nC1 times out => ok"))
	f.Add([]byte("lease 1s\nclients C1\nservers 3\nrepeat 3\nC1 acquire\non whichever server goes down\nwait 2s\non whichever server comes back\nC1 release\nend\nC1 acquire"))
	f.Add([]byte("lease 1s\nclients C1\nrepeat 2\nserver saves\nserver restarts as saved\nend\nrepeat 100\nC1 acquire\nend"))
	f.Add([]byte("lease 1s\nclients C1\nC1 acquire drop reply of second removal, hold before ninth DEL => ok | no"))
	f.Fuzz(func(t *testing.T, src []byte) {
		script, err := Parse("x.lab", src)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		formatted := Format(script)
		for line := range strings.SplitSeq(string(formatted), "\n") {
			if len(line) > maxLine {
				t.Skip("the canonical form of a line is longer than a line may be")
			}
		}
		again, err := Parse("x.lab", formatted)
		require.NoError(t, err, "%s", formatted)
		require.Equal(t, substance(script), substance(again))
	})
}
