package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/locklab/locklab/internal/faults/server/servertest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/internal/needs"
)

func TestPostgres(t *testing.T) {
	needs.Long(t, "makes a PostgreSQL")
	t.Parallel()
	needs.Found(t, "postgres", Find)
	ctx, guard := servertest.Bounded(t), servertest.StartGuard(t)
	home, err := Open(ctx, guard)
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	s, err := home.Start(ctx, filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	assert.Regexp(t, `^PostgreSQL \d+ \(started by the lab\)$`, s.Describe())

	query := func(text string) [][]string {
		rows, err := pgQuery(ctx, s.Addr(), text)
		require.NoError(t, err)
		return rows
	}
	_, err = pgQuery(ctx, s.Addr(), "select nothing")
	require.ErrorContains(t, err, `column "nothing" does not exist`)
	assert.Equal(t, [][]string{{"1", ""}, {"2", "b"}}, query("select * from (values (1, null), (2, 'b')) v"))
	assert.Equal(t, [][]string{{"mmap"}}, query("show dynamic_shared_memory_type"), "in its directory, which the guard removes")
	query("create table locks (name text primary key); insert into locks values ('it''s')")
	state, err := s.State(ctx, "it's")
	require.NoError(t, err)
	assert.False(t, state.Exists())

	ask := s.Questions()[0]
	require.NoError(t, ask(ctx))
	kept := s.kept.Load()
	require.NoError(t, ask(ctx))
	assert.Same(t, kept, s.kept.Load(), "one connection for all questions")

	require.NoError(t, s.Stop(ctx))
	require.Error(t, ask(ctx))
	_, err = s.State(ctx, "it's")
	require.Error(t, err)
	require.NoError(t, s.StartAgain(ctx))
	require.NoError(t, ask(ctx), "on another connection")
	assert.Equal(t, [][]string{{"it's"}}, query("select name from locks"), "it came back with its data")
	before := s.segment()
	assert.Contains(t, segments(t), before)
	require.NoError(t, s.RestartEmpty(ctx))
	assert.Empty(t, query("select 1 from pg_tables where tablename = 'locks'"))
	assert.NotContains(t, segments(t), before)

	dir, last := s.Dir, s.segment()
	require.NoError(t, s.Close())
	require.NoDirExists(t, dir)
	assert.NotContains(t, segments(t), last)
}

// segments are the numbers of the segments of shared memory on this machine.
func segments(t *testing.T) (all []string) {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.Fields(line)[1])
	}
	return all
}

// TestWhatPostgresLacks: the reason names what to install.
func TestWhatPostgresLacks(t *testing.T) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		t.Skip("this machine has one")
	}
	t.Setenv("PATH", t.TempDir())
	_, _, err := Find()
	require.ErrorContains(t, err, "install Debian's package postgresql")
}
