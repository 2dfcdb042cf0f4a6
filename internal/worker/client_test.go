package worker_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker"
)

// TestClientsContend: two clients of one process have connections and shared state of their own.
func TestClientsContend(t *testing.T) {
	redis := miniredis.RunT(t)
	for _, name := range []string{"setpx-lua", "redisson", "setpx-lua-resend"} {
		spec, found := impls.Find(name)
		require.True(t, found)
		var locks [2]*worker.Lock
		wrapped := 0
		for i := range locks {
			client, err := worker.Dial(t.Context(), redis.Addr())
			require.NoError(t, err)
			locks[i], err = client.Open(spec, impls.Options{Key: name, Lease: time.Minute}, worker.Wrap{Server: func(s impls.Server) impls.Server {
				wrapped++
				return s
			}})
			require.NoError(t, err)
			t.Cleanup(func() {
				locks[i].Close()
				require.NoError(t, client.Close())
			})
		}
		assert.Equal(t, 2, wrapped)
		held, err := locks[0].Acquire(t.Context(), 0, waiting.Default(locks[0].Lock))
		require.NoError(t, err)
		assert.True(t, held, name)
		held, err = locks[1].Acquire(t.Context(), 0, waiting.Default(locks[1].Lock))
		require.NoError(t, err)
		assert.False(t, held, name)
		released, err := locks[0].Release(t.Context())
		require.NoError(t, err)
		assert.True(t, released)
		held, err = locks[1].Acquire(t.Context(), time.Minute, waiting.Default(locks[1].Lock))
		require.NoError(t, err)
		assert.True(t, held, name)
	}
}

func TestDialSaysWhichServer(t *testing.T) {
	redis := miniredis.RunT(t)
	addr := redis.Addr()
	redis.Close()
	_, err := worker.Dial(t.Context(), addr)
	require.ErrorContains(t, err, "server "+addr)
}
