//go:build linux || darwin

package live_test

// clusterVerbs are scripts for a cluster.
func clusterVerbs() map[string]verbTest {
	return map[string]verbTest{
		"server migrates the slot": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first removal => held-up
			server migrates the slot
			C2 acquire => no
			C1 continue => ok
			C2 acquire => ok
			server has migrated the slot
			C1 acquire => no
			C2 release => ok`,
			"safe", []string{"redis slot-migration: inject", "redis slot-migration: effective", "C2 acquire: no", "C1 release: ok", "C2 acquire: ok",
				"redis slot-migration: recover", "C1 acquire: no", "C2 release: ok"}},

		"server migrates only the lock": {"fenced", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server migrates only the lock
			C2 acquire => no
			C1 release => ok
			C2 acquire => no
			server has migrated the slot
			C2 acquire => ok`,
			"safe", []string{"redis slot-migration: effective", "C2 acquire: no", "C1 release: ok", "C2 acquire: no",
				"redis slot-migration: recover", "C2 acquire: ok"}},

		"server has migrated the slot": {"setnx-watch", `
			lease 60s
			clients C1 C2
			server migrates the slot
			C1 acquire => ok
			C2 acquire => no
			C1 release => no
			C2 acquire => no
			server has migrated the slot
			C2 acquire => no`,
			"unreleasable, false-alarm", []string{"C1 acquire: ok", "C1 release: no", "C2 acquire: no", "redis slot-migration: recover", "C2 acquire: no"}},
	}
}
