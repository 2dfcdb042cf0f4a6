package storm_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/internal/scenarios/storm"
)

func kinds() []faults.Kind {
	return storm.Kinds()
}

func drawParams(t *rapid.T) storm.Params {
	all := kinds()
	var chosen []faults.Kind
	for _, kind := range all {
		if rapid.Bool().Draw(t, string(kind)) {
			chosen = append(chosen, kind)
		}
	}
	lease := time.Duration(rapid.IntRange(50, 2000).Draw(t, "lease ms")) * time.Millisecond
	return storm.Params{
		Seed: rapid.Int64().Draw(t, "seed"), Clients: rapid.IntRange(1, 16).Draw(t, "clients"),
		For: lease * time.Duration(rapid.IntRange(1, 100).Draw(t, "leases")), Lease: lease, Faults: chosen,
		Servers: rapid.IntRange(0, 5).Draw(t, "servers"),
	}
}

// TestPlanIsAFunctionOfItsParams: the same seed gives the same faults at the same times, and the same turns.
func TestPlanIsAFunctionOfItsParams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := drawParams(t)
		a, b := storm.New(params), storm.New(params)
		require.Equal(t, a, b)
		require.Equal(t, a.String(), b.String())
		x, y := a.Turns("C1"), b.Turns("C1")
		for range 20 {
			require.Equal(t, x.Next(), y.Next())
		}
	})
}

// TestPlanIsSound: strikes lie within the storm, are of the kinds that were asked for, and a client suffers one at a time.
func TestPlanIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := storm.New(drawParams(t))
		for i, s := range p.Strikes {
			require.Contains(t, p.Faults, s.Kind)
			require.GreaterOrEqual(t, s.At, time.Duration(0))
			require.LessOrEqual(t, s.At+s.For, p.For+24*time.Hour)
			if i > 0 {
				require.LessOrEqual(t, p.Strikes[i-1].At, s.At)
			}
			if s.Client != "" {
				require.LessOrEqual(t, s.At+s.For, p.For, "%s is over before the storm is", s)
			}
		}
		for i := range p.Clients {
			names := p.Names(i)
			free := time.Duration(0)
			for n, name := range names {
				own := p.Of(name)
				for k, s := range own {
					require.GreaterOrEqual(t, s.At, free, "%s begins while %s has another fault", s, name)
					free = s.At + s.For + s.Down
					last := n < len(names)-1 && k == len(own)-1
					require.Equal(t, last, s.Kind == faults.Crash, "a life ends with its crash: %s", s)
				}
			}
		}
	})
}

// TestLongStormsCanBeReadBack: clients that crash come back under new names, and of those a history may have only so many.
func TestLongStormsCanBeReadBack(t *testing.T) {
	for name, p := range map[string]storm.Params{
		"the most": {Seed: 1, Clients: 16, Handles: 8, For: time.Hour, Lease: 200 * time.Millisecond, Faults: []faults.Kind{faults.Crash}},
		"default":  {Seed: 1, Clients: 5, Handles: 2, For: time.Hour, Lease: time.Second, Faults: storm.Defaults()},
	} {
		t.Run(name, func(t *testing.T) {
			plan := storm.New(p)
			parties := 0
			for i := range plan.Clients {
				for _, client := range plan.Names(i) {
					parties += 1 + len(plan.HandlesIn(client))
				}
			}
			require.LessOrEqual(t, parties, history.MaxParties)
			require.Greater(t, parties, 1000)
		})
	}
}

func TestAnotherSeedIsAnotherStorm(t *testing.T) {
	params := storm.Params{Seed: 7, Clients: 5, For: time.Minute, Lease: time.Second, Faults: storm.Defaults()}
	other := params
	other.Seed = 8
	require.NotEqual(t, storm.New(params).String(), storm.New(other).String())
	require.NotEqual(t, storm.New(params).Turns("C1").Next(), storm.New(params).Turns("C2").Next())
}

// TestSeedSeven pins the beginning of one storm: a change here changes every storm that anybody has noted down.
func TestSeedSeven(t *testing.T) {
	p := storm.New(storm.Params{Seed: 7, Clients: 2, For: 8 * time.Second, Lease: time.Second, Faults: storm.Defaults()})
	require.Equal(t, strings.TrimPrefix(`
# seed 7, 2 clients, for 8s, lease 1s, work up to 250ms
    0.922s  C1     hold, hold before first GET, hold before first EVAL, hold before first GETSET, for 243ms
    0.965s  C2     crash, down 594ms
    0.979s  taker  pause, for 1.388s
    1.409s  holder pause, for 1.603s
    2.408s  taker  pause, at 5 of several servers, for 272ms
    2.441s  C2-2   refuse, of several servers 2 3 4 5 6 7, for 320ms
    3.095s  C1     partition, replies, for 87ms
    3.422s  C2-2   refuse, of several servers 1 4 6 7 8, for 226ms
    3.436s  taker  pause, for 1.678s
    3.615s  holder pause, for 1.486s
    4.167s  C2-2   clock, ahead 2.958s, for 2.562s
    4.260s  C1     pause, for 304ms
    5.012s  taker  pause, at 4 of several servers, for 423ms
    5.274s  C1     partition, of several servers 1 4 5 6 7, for 135ms
    5.812s  C1     partition, for 145ms
    5.991s  taker  pause, at 5 of several servers, for 369ms
    6.077s  holder partition, of several servers 3, for 1.521s
    6.462s  C1     refuse, of several servers 1 2 4 5 7 8, for 264ms
`, "\n"), p.String())
}

// TestPlansAreFrozen pins long storms of all kinds, and the turns of their clients, to the last bit: whoever has noted down a seed gets the
// same storm again.
func TestPlansAreFrozen(t *testing.T) {
	for of, want := range map[[2]int64]uint64{
		{1, 0}: 0x3544ffd6229d55e4, {2, 0}: 0xa20927e009fceca9, {77, 0}: 0xf695d1852995e281,
		{1, 1}: 0x2ce6deec616dfff5, {1, 3}: 0x4c3a239704575da8,
	} {
		seed, servers := of[0], int(of[1])
		p := storm.New(storm.Params{
			Seed: seed, Clients: 4, Handles: 1, For: 5 * time.Minute, Lease: time.Second, Faults: storm.Kinds(), Servers: servers,
		})
		sum := fnv.New64a()
		fmt.Fprintln(sum, p.String(), p.Patience())
		for i := range p.Clients {
			turns := p.Turns(p.Names(i)[0])
			for range 200 {
				fmt.Fprintf(sum, "%+v\n", turns.Next())
			}
		}
		for _, s := range p.Strikes {
			fmt.Fprintf(sum, "%+v\n", s)
		}
		assert.Equal(t, want, sum.Sum64(), "seed %d, %d servers: %#x", seed, servers, sum.Sum64())
	}
}

// TestOnZooKeeper: breakpoints are for its requests, and no kind strikes that it lacks.
func TestOnZooKeeper(t *testing.T) {
	p := storm.New(storm.Params{Seed: 1, Clients: 5, For: 10 * time.Minute, Lease: time.Second, Faults: kinds(), ZooKeeper: true})
	commands := map[string]bool{}
	struck := map[faults.Kind]bool{}
	for _, s := range p.Strikes {
		struck[s.Kind] = true
		for _, b := range s.Breakpoints {
			commands[b.Match.Command] = true
		}
	}
	require.Equal(t, map[string]bool{"": true, "CREATE": true, "GETCHILDREN": true, "EXISTS": true, "DELETE": true}, commands)
	for _, kind := range kinds() {
		require.Equal(t, storm.Params{ZooKeeper: true}.Lacks(kind) == "", struck[kind], kind)
	}
}

// TestRepliesToTriesAreLost: part of the lost replies are those to a request that the lab has held, and only to writes, such as a try to acquire, or
// to what may remove the lock.
func TestRepliesToTriesAreLost(t *testing.T) {
	p := storm.New(storm.Params{Seed: 1, Clients: 5, For: 10 * time.Minute, Lease: time.Second, Faults: []faults.Kind{faults.ReplyLost}})
	atTries, whileFree, atReleases, atAnyTime := 0, 0, 0, 0
	for _, s := range p.Strikes {
		if len(s.Breakpoints) == 0 {
			atAnyTime++
			continue
		}
		require.Len(t, s.Breakpoints, 1)
		at := s.Breakpoints[0]
		require.Equal(t, faults.ActHoldRequest, at.Action)
		switch {
		case at.Match.Kind == faults.MatchRemoval:
			require.False(t, s.Free)
			atReleases++
		default:
			require.Equal(t, faults.MatchWrite, at.Match.Kind)
			atTries++
		}
		if s.Free {
			whileFree++
		}
	}
	require.Greater(t, atTries, 100)
	require.Greater(t, atAnyTime, 100)
	require.Greater(t, atReleases, 30)
	require.Greater(t, whileFree, 50)
	require.Greater(t, atTries-whileFree, 20)
}

// TestHoldersCrashLate: a crash of a holder ends all that a storm can show of a lock that stays its own, and so comes late.
func TestHoldersCrashLate(t *testing.T) {
	params := storm.Params{Seed: 1, Clients: 5, For: time.Minute, Lease: time.Second, Faults: storm.Defaults(), Outlives: true}
	crashes := 0
	for _, s := range storm.New(params).Strikes {
		if s.Kind == faults.Crash {
			crashes++
			require.GreaterOrEqual(t, s.At, 40*time.Second)
		}
	}
	require.NotZero(t, crashes)
}

// TestEveryKindStrikes: a storm of some length has each kind that it was asked for.
func TestEveryKindStrikes(t *testing.T) {
	p := storm.New(storm.Params{Seed: 1, Clients: 5, For: 10 * time.Minute, Lease: time.Second, Faults: kinds()})
	for _, kind := range kinds() {
		require.True(t, slices.ContainsFunc(p.Strikes, func(s storm.Strike) bool { return s.Kind == kind }), kind)
	}
	require.Empty(t, storm.New(storm.Params{Seed: 1, Clients: 5, For: time.Minute, Lease: time.Second}).Strikes)
}

// TestMoments: what is for holders and takers comes with the kinds of faults that it is made of, and only with those.
func TestMoments(t *testing.T) {
	params := storm.Params{Seed: 1, Clients: 2, For: 10 * time.Minute, Lease: time.Second}
	for _, test := range []struct {
		faults         []faults.Kind
		holders, taker []faults.Kind
	}{
		{storm.Defaults(), []faults.Kind{faults.Pause, faults.Refuse, faults.ReplyLost, faults.Partition}, []faults.Kind{faults.Pause}},
		{[]faults.Kind{faults.Pause}, []faults.Kind{faults.Pause}, []faults.Kind{faults.Pause}},
		{[]faults.Kind{faults.Refuse, faults.Crash}, []faults.Kind{faults.Refuse}, nil},
		{[]faults.Kind{faults.Crash}, nil, nil},
	} {
		params.Faults = test.faults
		p := storm.New(params)
		for moment, want := range map[storm.Moment][]faults.Kind{storm.Holder: test.holders, storm.Taker: test.taker} {
			var got []faults.Kind
			releases, late := 0, 0
			for _, s := range p.Of(string(moment)) {
				if !slices.Contains(got, s.Kind) {
					got = append(got, s.Kind)
				}
				require.Equal(t, moment == storm.Taker, s.Nth > 0, s)
				short := moment == storm.Taker && s.For < params.Lease/2
				require.Equal(t, s.Kind == faults.Pause && !short || s.Kind == faults.Partition, s.For > params.Lease, "a pause and a partition outlast the lease: %s", s)
				require.Equal(t, s.Kind == faults.Partition, s.Links != 0, s)
				if len(s.Breakpoints) > 0 {
					require.Equal(t, []faults.Breakpoint{{Action: faults.ActHoldRequest, Nth: 1, Match: faults.Match{Kind: faults.MatchRemoval}}}, s.Breakpoints)
					require.Equal(t, faults.ReplyLost, s.Kind, "the replies to a release")
					releases++
				}
				if short {
					late++
				}
			}
			require.ElementsMatch(t, want, got, "%s of %v", moment, test.faults)
			require.Equal(t, moment == storm.Holder && slices.Contains(want, faults.ReplyLost), releases > 10, "%d releases", releases)
			require.Equal(t, moment == storm.Taker && len(want) > 0, late > 100, "%d late grants", late)
		}
	}
}

// TestTakersOfFewServers: strikes for takers of more servers than the lock has come as others; those for as many, and for anybody else, are the same.
func TestTakersOfFewServers(t *testing.T) {
	params := storm.Params{Seed: 1, Clients: 2, For: 10 * time.Minute, Lease: time.Second, Faults: storm.Defaults()}
	many := storm.New(params)
	for servers := 1; servers <= 5; servers++ {
		params.Servers = servers
		few := storm.New(params)
		require.Equal(t, many.Of("C1"), few.Of("C1"))
		require.Equal(t, many.Of(string(storm.Holder)), few.Of(string(storm.Holder)))
		at := map[time.Duration]storm.Strike{}
		for _, s := range many.Of(string(storm.Taker)) {
			at[s.At] = s
		}
		others := map[faults.Kind]int{}
		brief := 0
		for _, s := range few.Of(string(storm.Taker)) {
			require.LessOrEqual(t, s.Nth, servers)
			same, known := at[s.At]
			if known && same.Nth <= servers {
				require.Equal(t, same, s)
				continue
			}
			others[s.Kind]++
			require.Equal(t, s.Kind == faults.ReplyLost, len(s.Breakpoints) == 1, s)
			require.Equal(t, s.Kind == faults.Partition, s.For > params.Lease, s)
			if s.For < params.Lease/10 {
				brief++
			}
		}
		if servers == 5 {
			require.Empty(t, others)
			continue
		}
		require.Len(t, others, 3)
		require.Greater(t, others[faults.Pause], 40)
		require.Greater(t, others[faults.ReplyLost], 40)
		require.Greater(t, others[faults.Partition], 10)
		require.Greater(t, brief, 10)
	}
	params.Servers, params.Faults = 1, []faults.Kind{faults.Pause}
	for _, s := range storm.New(params).Strikes {
		require.Equal(t, faults.Pause, s.Kind)
	}
}

// TestLinks: whatever a strike draws disturbs the link to some server, however many there are, and now and then not to all.
func TestLinks(t *testing.T) {
	p := storm.New(storm.Params{Seed: 1, Clients: 5, For: 10 * time.Minute, Lease: time.Second, Faults: storm.Defaults()})
	for servers := 1; servers <= 5; servers++ {
		seen := map[int]bool{}
		for _, s := range p.Strikes {
			hit := 0
			for i := range servers {
				if s.Hits(i, servers) {
					hit++
				}
			}
			seen[hit] = true
		}
		require.Len(t, seen, servers, "of %d servers any number is hit, but never none: %v", servers, seen)
		require.False(t, seen[0])
	}
}

func TestParseKinds(t *testing.T) {
	got, err := storm.ParseKinds([]string{"clock", "pause"})
	require.NoError(t, err)
	require.Equal(t, []faults.Kind{faults.Pause, faults.Skew}, got, "their order is no part of a storm")
	got, err = storm.ParseKinds([]string{"server-restart", "lost-reply", "server-jump", "clock"})
	require.NoError(t, err)
	require.Equal(t, []faults.Kind{faults.ReplyLost, faults.Skew, faults.ClockJump, faults.Restart}, got, "as they were called before")
	got, err = storm.ParseKinds([]string{"none"})
	require.NoError(t, err)
	require.Empty(t, got)
	for name, want := range map[string]string{
		"puase":   `unknown fault "puase"; did you mean "pause"?`,
		"weather": `unknown fault "weather"; known are pause, crash, `,
		"":        `unknown fault ""; known are`,
		"stall":   `unknown fault "stall"; known are`,
	} {
		_, err := storm.ParseKinds([]string{name})
		require.ErrorContains(t, err, want)
	}
	_, err = storm.ParseKinds([]string{"pause", "pause"})
	require.ErrorContains(t, err, "named twice")
	_, err = storm.ParseKinds([]string{"none", "pause"})
	require.ErrorContains(t, err, `unknown fault "none"`)
}

// TestFurtherLocks: every other client has them, and whoever comes in its place; they change nothing about the faults.
func TestFurtherLocks(t *testing.T) {
	params := storm.Params{Seed: 7, Clients: 3, For: 8 * time.Second, Lease: time.Second, Faults: storm.Defaults()}
	plain := storm.New(params)
	params.Handles = 2
	p := storm.New(params)
	require.Equal(t, plain.Strikes, p.Strikes)
	require.Empty(t, plain.HandlesIn("C1"))
	require.Equal(t, []string{"C1/2", "C1.b/3"}, p.HandlesIn("C1"))
	require.Empty(t, p.HandlesIn("C2"))
	require.Equal(t, []string{"C3-12/2", "C3-12.b/3"}, p.HandlesIn("C3-12"))
	require.Contains(t, p.String(), "\n# further locks in the process of every other client: C1/2 C1.b/3 …\n")
}
