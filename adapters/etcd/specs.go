package main

import "github.com/locklab/locklab/impls"

// Specs are the locks of this program.
func Specs() []impls.Spec {
	const source = "go.etcd.io/etcd/client/v3/concurrency: NewSession, NewMutex"
	promises := []impls.Promise{impls.MutualExclusion, impls.ReleaseByOwner, impls.CrashSafety, impls.KnowsLoss, impls.IgnoresClientTime}
	return []impls.Spec{
		{
			Card: impls.Card{
				Name: "etcd", Idea: "the oldest key below a prefix has the lock; each is bound to its client's lease, which is kept alive",
				Source: source, Promises: promises, Needs: impls.OneEtcd, Renews: true,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock { return newLock(env, opts) },
		},
		{
			Card: impls.Card{
				Name: "etcd-fenced", Idea: "etcd with the revision at which the lock was granted for a fence",
				Source: source, Promises: append([]impls.Promise{impls.Fencing}, promises...), Needs: impls.OneEtcd, Renews: true,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock { return fenced{newLock(env, opts)} },
		},
		{
			Card: impls.Card{
				Name: "etcd-counted", Idea: "etcd that counts its lease from when it asked to keep it alive, and tells its user how much is left",
				Source: source, Promises: append([]impls.Promise{impls.ExclusionOnPause}, promises...), Needs: impls.OneEtcd, Renews: true,
			},
			New: func(env impls.Env, opts impls.Options) impls.Lock {
				l := newLock(env, opts)
				l.counts = true
				return counted{l}
			},
		},
	}
}
