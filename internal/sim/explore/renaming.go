package explore

import (
	"context"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// A lock that only compares tokens does the same whatever they are. So paths are executed with tokens as real clients have them, other ones each
// time. What is asked may differ by what the lock has made of its tokens, but is then another one for each.

const (
	renamings    = 32
	renamedSteps = 8_000 // for all paths
)

// realToken is a token as a real client has it. Each number has another one.
func realToken(client, n, number int) string {
	var b [16]byte
	high := mix(uint64(number)<<16|uint64(client)<<8|uint64(n)+1, 0xa0761d6478bd642f)
	binary.BigEndian.PutUint64(b[:], mix(high^0x8ebc6af09c88c6e3, 0xe7037ed1a0b428db))
	binary.BigEndian.PutUint64(b[8:], high)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// renaming is one execution of a path with other tokens.
type renaming struct {
	number int
	words  map[string]string // what the lock sends in the place of something else
}

// token gives the tokens in a text the names of real ones.
func (r *renaming) token(text string) string {
	var b strings.Builder
	from := 0
	last := -1
	eachToken(text, func(at, client, n int) {
		if at < from {
			return
		}
		if name := client*mostTokens + n; at > from || name != last { // repeated, it is one long token
			b.WriteString(text[from:at] + realToken(client, n, r.number))
			last = name
		}
		last, from = client*mostTokens+n, at+tokenLength
	})
	return b.String() + text[from:]
}

// reply is a server's reply to what the lock has sent in the place of something else.
func (r *renaming) reply(replies []service.Reply) []service.Reply {
	return renameReplies(replies, func(text string) string {
		if other, known := r.words[text]; known {
			return other
		}
		return r.token(text)
	})
}

// place is where a word stands that a lock sends.
type place struct{ step, slot, command, word int }

// checkTokens executes paths with other tokens, and says what depends on them.
func (p *sampler) checkTokens(ctx context.Context, ends []uint32) (string, error) {
	p.left = renamedSteps
	for _, n := range ends {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		end := p.points[n].paths[0]
		b, err := p.baselineOf(end)
		if err != nil {
			return "", err
		}
		varying := map[place]map[string]bool{}
		asked, err := p.rename(b, nil, nil)
		if err != nil {
			return "", err
		}
		for number := range renamings {
			r := &renaming{number: number, words: map[string]string{}}
			others, err := p.rename(b, r, asked)
			if err != nil {
				return "", err
			}
			if k := compareAsked(asked, others, varying); k >= 0 {
				op, _ := p.operation(b, k)
				return fmt.Sprintf("%s does something else with other tokens", op), nil
			}
		}
		for k := range b.path {
			for at, values := range varying {
				if at.step == k && len(values) < renamings {
					op, _ := p.operation(b, k)
					return fmt.Sprintf("%s sends what is the same for some of its tokens, and not for all", op), nil
				}
			}
		}
		if p.left <= 0 {
			break
		}
	}
	return "", nil
}

// askedFor is what a lock waits for after a step, and what it has told.
type askedFor struct {
	waits [][][]string // by slot: the commands
	told  string
}

// rename executes a path; r: with other tokens, up to where it asks for something of another form than before.
func (p *sampler) rename(b *baseline, r *renaming, before []askedFor) (asked []askedFor, err error) {
	a := p.a
	a.executing.Store(int64(time.Since(a.born)))
	defer a.executing.Store(0)
	s := a.newInstance(int(a.nodes[a.taken[b.path[0]].at].client))
	s.process.Rehearse()
	defer s.process.Close()
	if r == nil {
		s.process.NoteCallers(p.callers)
	} else {
		s.host.rename = r.token
	}
	for k, n := range b.path {
		t := &a.taken[n]
		p.left--
		s.host.when = t.when
		notices, err := a.executeRenamed(s, t, r)
		if err != nil {
			return nil, err
		}
		now := askedNow(s, notices)
		asked = append(asked, now)
		if r != nil && !r.learn(&before[k], &now) {
			return asked, nil
		}
	}
	return asked, nil
}

// askedNow is what the lock of an instance waits for, and what it has told.
func askedNow(s *instance, notices []process.Notice) askedFor {
	now := askedFor{waits: make([][][]string, mostSlots)}
	for _, w := range s.process.Waits() {
		if w.Task < mostSlots {
			now.waits[w.Task] = append([][]string{{fmt.Sprint(w.Kind, w.Server, w.Length, w.Limit)}}, w.Commands...)
		}
	}
	for _, notice := range notices {
		now.told += fmt.Sprint(notice.Kind, notice.Op, notice.Answer.Outcome, notice.Answer.Limited, notice.Answer.Valid, notice.Valid, notice.Answer.Fence)
	}
	return now
}

// learn notes what is sent in the place of something else. It is false where the two have not the same form.
func (r *renaming) learn(before, now *askedFor) bool {
	if before.told != now.told {
		return false
	}
	for slot := range before.waits {
		if !sameForm(before.waits[slot], now.waits[slot]) {
			return false
		}
		for c, words := range before.waits[slot] {
			for i, word := range words {
				if other := now.waits[slot][c][i]; other != word {
					r.words[word] = other
				}
			}
		}
	}
	return true
}

// sameForm says whether the same commands have as many words.
func sameForm(a, b [][]string) bool {
	return slices.EqualFunc(a, b, func(a, b []string) bool { return len(a) == len(b) && (len(a) == 0 || a[0] == b[0]) })
}

// compareAsked notes the words that differ. It returns the first step that does something of another form; negative: there is none.
func compareAsked(before, now []askedFor, varying map[place]map[string]bool) int {
	for k := range now {
		if before[k].told != now[k].told {
			return k
		}
		for slot := range before[k].waits {
			was, is := before[k].waits[slot], now[k].waits[slot]
			if !sameForm(was, is) {
				return k
			}
			for c := range was {
				for i := range was[c] {
					if was[c][i] == is[c][i] {
						continue
					}
					at := place{k, slot, c, i}
					if varying[at] == nil {
						varying[at] = map[string]bool{}
					}
					varying[at][is[c][i]] = true
				}
			}
		}
	}
	return -1
}

// executeRenamed hands the input of a transition to an instance that has other tokens.
func (a *automaton) executeRenamed(s *instance, t *execution, r *renaming) ([]process.Notice, error) {
	in := t.in
	if r != nil && in.kind == inputReply {
		in.arg = a.texts.reply(r.reply(a.texts.replies[in.arg].replies))
	}
	notices, err := a.execute(s, in, t.when)
	if err != nil {
		return nil, a.impure(err)
	}
	return notices, nil
}

// checkCode says by what function real time, chance or a goroutine gets into the lock, as far as its code was seen to be executed.
func (p *sampler) checkCode() string {
	s := p.a.newInstance(0)
	defer s.process.Close()
	called, by := process.Outside(p.a.spec, s.process.Lock("lock"), p.callers)
	if called == "" {
		return ""
	}
	return fmt.Sprintf("%s calls %s, which is not its Env's: the search follows no real time, no chance and no goroutines of a lock's own", by, called)
}
