package history

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever a command says, it says after it was packed among others, and is written as it was.
func TestPackedCommandsAreUnchanged(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "redis", "lock", "PX", "a\nb", "…"})
	number := rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })
	state := rapid.Custom(func(t *rapid.T) State {
		return State{word.Draw(t, "type"), word.Draw(t, "value"), number.Draw(t, "ttl")}
	})
	change := rapid.Custom(func(t *rapid.T) Change {
		return Change{word.Draw(t, "key"), state.Draw(t, "before"), state.Draw(t, "after")}
	})
	command := rapid.Custom(func(t *rapid.T) Command {
		return Command{
			Server: word.Draw(t, "server"), Conn: rapid.Int64().Draw(t, "conn"), Args: rapid.SliceOfN(word, 1, 12).Draw(t, "args"), Reply: word.Draw(t, "reply"),
			Sent: number.Draw(t, "sent"), Asked: number.Draw(t, "asked"), Late: rapid.Bool().Draw(t, "late"), Again: rapid.Bool().Draw(t, "again"),
			ReplyDropped: rapid.Bool().Draw(t, "dropped"), Changes: rapid.SliceOfN(change, 1, 3).Draw(t, "changes"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		commands := rapid.SliceOfN(command, 1, 8).Draw(t, "commands")
		var p packer
		var events []Event
		for n := range commands {
			e := Event{Kind: KindCommand}
			e.in, e.at = p.add(&commands[n])
			events = append(events, e)
			if n == len(commands)/2 {
				p.close()
			}
		}
		p.close()
		var room Room
		for n := range commands {
			require.Equal(t, &commands[n], events[n].Command())
			require.Equal(t, &commands[n], events[n].CommandIn(&room))
			plain := Event{Kind: KindCommand, Detail: &Detail{Command: &commands[n]}}
			require.Equal(t, string(appendEvent(nil, &plain)), string(appendEvent(nil, &events[n])))
		}
	})
}

// tries is a history of so many tries to acquire, such as most of a long storm.
func tries(n int) []byte {
	var text bytes.Buffer
	w, err := NewWriter(&text, Header{})
	for i := 0; err == nil && i < n; i++ {
		kept := State{Type: "string", Value: fmt.Sprintf("BKARYY6WOA73AMNF6IXPLH%04d", i/100), TTL: time.Duration(1000-i%1000) * time.Millisecond}
		err = w.Write(Event{At: time.Duration(i) * time.Millisecond, Kind: KindCommand, Client: "C2", Op: OpAcquire, ID: int64(i/10) + 1, Lock: "lock", Detail: &Detail{Command: &Command{
			Server: "redis", Conn: 1, Args: []string{"SET", "lock", fmt.Sprintf("7P3I7Z74CVR4N4AG2YRB7Q%04d", i/10), "NX", "PX", "1000"}, Reply: "nil",
			Sent: time.Duration(i) * time.Millisecond, Asked: 299886, Changes: []Change{{Key: "lock", Before: kept, After: kept}},
		}}})
	}
	if err != nil {
		panic(err)
	}
	return text.Bytes()
}

// A history takes less than half of its file's size in memory.
func TestHistoriesTakeLessThanTheirFiles(t *testing.T) {
	text := tries(20_000)
	before := inUse()
	file, err := Read(t.Context(), bytes.NewReader(text), "history")
	require.NoError(t, err)
	taken := inUse() - before
	assert.Less(t, taken, int64(len(text)/2), "of %d bytes", len(text))
	runtime.KeepAlive(file)
	runtime.KeepAlive(text)
}

// A file of millions of tiny events would take many times its size.
func TestTooManyEventsAreRefused(t *testing.T) {
	few := newValidator()
	few.events = 9
	_, err := read(t.Context(), bytes.NewReader(tries(9)), "nine", 0, few.check)
	require.NoError(t, err)
	few = newValidator()
	few.events = 9
	_, err = read(t.Context(), bytes.NewReader(tries(10)), "ten", 0, few.check)
	require.ErrorContains(t, err, "ten:11: more than 12582912 events")
}

// inUse is how much memory is in use.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
