package explore

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
)

// tenant keeps the value of its grant, and how many grants it has had, in something of the standard library.
type tenant struct {
	plain
	keeps  storage
	breaks bool // it takes the lock by force after two grants
}

// storage remembers a value and a number.
type storage interface {
	put(value string, grants int)
	get() (value string, grants int)
}

type grant struct {
	value  string
	grants int
}

// byPointer replaces what an atomic.Pointer points to.
type byPointer struct{ latest atomic.Pointer[grant] }

func (s *byPointer) put(value string, grants int) { s.latest.Store(&grant{value, grants}) }

func (s *byPointer) get() (string, int) {
	if g := s.latest.Load(); g != nil {
		return g.value, g.grants
	}
	return "", 0
}

// byBuilder writes a letter for each grant, and then the value.
type byBuilder struct{ text strings.Builder }

func (s *byBuilder) put(value string, grants int) {
	s.text.Reset()
	s.text.WriteString(strings.Repeat("x", grants) + "|" + value)
}

func (s *byBuilder) get() (string, int) {
	grants, value, _ := strings.Cut(s.text.String(), "|")
	return value, len(grants)
}

// byMap keeps both in a sync.Map.
type byMap struct{ kept sync.Map }

func (s *byMap) put(value string, grants int) {
	s.kept.Store("value", value)
	s.kept.Store("grants", grants)
}

func (s *byMap) get() (string, int) {
	value, _ := s.kept.Load("value")
	grants, _ := s.kept.Load("grants")
	text, _ := value.(string)
	n, _ := grants.(int)
	return text, n
}

func (l *tenant) TryAcquire(ctx context.Context) (bool, error) {
	mine := l.env.Token()
	_, grants := l.keeps.get()
	if l.breaks && grants >= 2 {
		return l.take(ctx, mine)
	}
	held, err := l.try(ctx, mine)
	if held && l.breaks {
		grants++
	}
	if held {
		l.keeps.put(mine, grants)
	}
	return held, err
}

func (l *tenant) Release(ctx context.Context) (bool, error) {
	l.value, _ = l.keeps.get()
	return l.plain.Release(ctx)
}

// What locks keep in types of the standard library is compared by what their methods show.
func TestStandardTypesAreCompared(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func() storage{
		"atomic.Pointer":  func() storage { return &byPointer{} },
		"strings.Builder": func() storage { return &byBuilder{} },
		"sync.Map":        func() storage { return &byMap{} },
	} {
		for _, breaks := range []bool{false, true} {
			spec := stranger(func(p plain) impls.Lock { return &tenant{plain: p, keeps: made(), breaks: breaks} })
			config := Config{Lock: spec, Clients: 2, Rounds: 3, Budget: Budget{}, Only: []checker.Name{checker.DoubleHolder, checker.WrongfulDelete}, States: 200_000}
			result, err := Explore(context.Background(), config.Usual())
			require.NoError(t, err, name)
			assert.Equal(t, breaks, result.Found != nil, "%s; breaks: %v", name, breaks)
			assert.True(t, breaks || result.Complete(), "%s: %s %s", name, result.Limit, result.Doubt)
			assert.Empty(t, result.Unmerged, name)
		}
	}
}
