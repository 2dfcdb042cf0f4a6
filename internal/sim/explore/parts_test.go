package explore

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
)

// A form says all about a state; and all states that are the same but for the order of the clients have the same normal form.
func TestForms(t *testing.T) {
	for _, name := range []string{"getset", "redisson", "setpx-lua"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{
				Lock: lock(t, name), Clients: 3, Rounds: 1, Budget: spend(faults.Crash, faults.LateRequest, faults.FailOver), MostFaults: 2, States: 5000,
				Only: []checker.Name{checker.Unfair}, // nothing is to end the search
			}
			x := newExplorer(config, traits{symmetric: true, reads: true, lives: true, nominal: true})
			looked := 0
			x.visited = func(f form) {
				if looked++; looked%10 != 0 {
					return
				}
				var s state
				x.unpack(&s, &f)
				require.Equal(t, f, x.pack(&s, nil, nil))
				for o := range x.texts.orders {
					twin, err := x.reorder(o, &f)
					require.NoError(t, err)
					normal, _, err := x.normal(&twin)
					require.NoError(t, err)
					require.Equal(t, f, normal)
				}
			}
			defer x.automaton.close()
			require.NoError(t, x.search(context.Background()))
			assert.Greater(t, looked, 1000)
		})
	}
}

// A part without padding is hashed, and compared, in one go; see gap.
func TestPartsHaveNoPadding(t *testing.T) {
	for _, part := range []any{client{}, common{}} {
		kind := reflect.TypeOf(part)
		assert.Equal(t, kind.Size(), withoutPadding(kind), kind.Name())
	}
}

// withoutPadding is how many bytes the values in a type take.
func withoutPadding(kind reflect.Type) (bytes uintptr) {
	switch kind.Kind() {
	case reflect.Struct:
		for i := range kind.NumField() {
			bytes += withoutPadding(kind.Field(i).Type)
		}
		return bytes
	case reflect.Array:
		return uintptr(kind.Len()) * withoutPadding(kind.Elem())
	}
	return kind.Size()
}
