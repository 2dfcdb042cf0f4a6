package main

import (
	"time"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
)

// minLease is the shortest lease that the library keeps in spite of what half of a lease may bring (client/v3 3.7.3, lease.go). It asks for the next
// one after a third of a lease, and looks every half second whether that has come (line 610). After a broken connection it waits for half a second
// (line 489). So a client that is hindered for half of its lease, and whose connection breaks twice, has been without an answer for 1/3 + 1/2 of it
// and 1.5 s: as long as a lease of 9 s.
const minLease = 10 * time.Second

// Specs are the locks of this program.
func Specs() []impls.Spec {
	const source = "go.etcd.io/etcd/client/v3/concurrency: NewSession, NewMutex"
	oneRequest := []string{"release"} // a transaction; an acquire is several requests
	promises := []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.CrashSafety, impls.KnowsLoss, impls.IgnoresClientTime}
	return []impls.Spec{
		{
			Card: impls.Card{
				Name: "etcd", Idea: "the oldest key below a prefix has the lock; each is bound to its client's lease, which is kept alive",
				Source: source, Promises: promises, Needs: impls.OneEtcd, Contract: history.Contract{Renews: true}, MinLease: minLease, OneRequest: oneRequest,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock { return newLock(env, opts) },
		},
		{
			Card: impls.Card{
				Name: "etcd-fenced", Idea: "etcd with the revision at which the lock was granted for a fence",
				Source: source, Promises: append([]impls.Promise{impls.Fencing}, promises...), Needs: impls.OneEtcd, Contract: history.Contract{Renews: true},
				MinLease: minLease, OneRequest: oneRequest,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock { return fenced{newLock(env, opts)} },
		},
		{
			Card: impls.Card{
				Name: "etcd-counted", Idea: "etcd that counts its lease from when it asked to keep it alive, and tells its user how much is left",
				Source: source, Promises: append([]impls.Promise{impls.ExclusionOnPause}, promises...), Needs: impls.OneEtcd, Contract: history.Contract{Renews: true},
				OneRequest: oneRequest,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock {
				l := newLock(env, opts)
				l.counts = true
				return counted{l}
			},
		},
	}
}
