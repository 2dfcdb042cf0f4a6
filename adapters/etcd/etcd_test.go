package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/adaptertest"
	"github.com/locklab/locklab/internal/faults/server/etcd"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/needs"
	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/internal/worker"
	"github.com/locklab/locklab/scenarios"
)

// asClient is the first argument of this binary when it is a client.
const asClient = "etcd-client"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asClient {
		serve := run
		if slices.Contains(os.Args, outlivingName) {
			serve = serveOutliving
		}
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	lab.Serve()
	os.Exit(m.Run())
}

// TestScenarios: every cell of the reviewed table comes out as it says.
func TestScenarios(t *testing.T) {
	needs.Found(t, "etcd", etcd.Find)
	adaptertest.Table{Server: live.Etcd, Locks: names(), Client: adaptertest.Self(t, asClient)}.Play(t)
}

func names() (all []string) {
	for _, spec := range Specs() {
		all = append(all, spec.Card.Name)
	}
	return all
}

// TestGrantLongAfterAFault: a partition that was over four leases before a grant does not excuse a lock whose grant outlives its session.
func TestGrantLongAfterAFault(t *testing.T) {
	needs.Found(t, "etcd", etcd.Find)
	script, err := scenarios.ParseFile(filepath.Join("testdata", "grant-long-after-a-fault.lab"))
	require.NoError(t, err)
	subject := play.Subject{Name: outlivingName, Argv: adaptertest.Self(t, asClient)(outlivingName)}
	setting := lab.Setting{Server: live.Etcd}
	subject, err = lab.Meet(t.Context(), setting, subject)
	require.NoError(t, err)
	cases := lab.Cases([]*scenarios.Script{script}, []play.Subject{subject}, 1, lab.Expect(nil))
	run, err := lab.Run(t.Context(), lab.Plan{Cases: cases, Options: lab.Options{Setting: setting}})
	require.NoError(t, err)
	require.Len(t, run.Cells, 1)
	require.Equal(t, lab.Surprise, lab.OutcomeOf(run), "%v", run.Cells[0].Verdict)
	require.Contains(t, run.Cells[0].Verdict.Names(), checker.DoubleHolder)
	for _, a := range run.Cells[0].Verdict.Anomalies {
		require.Empty(t, a.Beyond, a.Why)
	}
}

const outlivingName = "outliving"

// outliving is etcd's recipe with a mistake: a client whose session ended while it waited takes the lock when the keys before its own are gone,
// though its own is gone as well.
type outliving struct {
	*lock
	key string
}

func serveOutliving([]string) error {
	spec := Specs()[0]
	spec.Name = outlivingName
	spec.New = func(env impls.Env, opts impls.Options) impls.Lock { return &outliving{lock: newLock(env, opts)} }
	return worker.Program(context.Background(), spec)
}

func (l *outliving) TryAcquire(ctx context.Context) (bool, error) {
	once, cancel := l.env.WithTimeout(ctx, grace)
	defer cancel()
	return l.Acquire(ctx, once)
}

func (l *outliving) Acquire(ctx, patience context.Context) (bool, error) {
	s, err := l.present(patience)
	if err != nil {
		return false, err
	}
	key := s.key(l.opts.Key)
	put, err := l.client.Put(ctx, key, "", clientv3.WithLease(s.Lease()))
	if err != nil {
		return false, err
	}
	before := append(clientv3.WithFirstCreate(), clientv3.WithMaxCreateRev(put.Header.Revision-1))
	for {
		first, err := l.client.Get(patience, l.opts.Key+"/", before...)
		switch {
		case err == nil && len(first.Kvs) == 0:
			l.key = key
			return true, nil
		case patience.Err() != nil:
			_, err := l.client.Delete(ctx, key)
			return false, err
		}
		_ = l.env.Sleep(patience, reconnectEvery)
	}
}

func (l *outliving) Release(ctx context.Context) (bool, error) {
	gone, err := l.client.Delete(ctx, l.key)
	return err == nil && gone.Deleted > 0, err
}

func TestWrongArguments(t *testing.T) {
	require.ErrorContains(t, run([]string{"-lock", "zookeeper"}), `unknown lock "zookeeper"`)
	require.ErrorContains(t, run([]string{"more"}), "[more]")
}
