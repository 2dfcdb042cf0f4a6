//go:build linux || darwin

package live_test

// replicaVerbs are scripts for servers with replicas.
func replicaVerbs() map[string]verbTest {
	return map[string]verbTest{
		"server holds back one replica": {"setpx-lua-wait", `
			lease 60s
			clients C1 C2
			server holds back one replica
			C1 acquire => ok
			server fails over to the one held back
			C2 acquire => ok
			C1 release => no
			C2 release => ok`,
			"double-holder, early-grant", []string{"C1 acquire: ok", "redis restart: inject", "redis restart: effective", "C2 acquire: ok", "C1 release: no",
				"C2 release: ok"}},

		"server fails over to the other one": {"setpx-lua-wait", `
			lease 60s
			clients C1 C2
			C2 acquire => ok
			C2 release => ok
			server holds back one replica
			C1 acquire => ok
			server fails over to the other one
			C2 acquire => no
			server holds back one replica
			C1 release => ok
			server fails over to the other one
			C2 acquire => ok`,
			"safe", []string{"C1 acquire: ok", "redis restart: effective", "C2 acquire: no", "C1 release: ok", "redis restart: effective", "C2 acquire: ok"}},

		"server fails over without": {"setpx-lua", `
			lease 60s
			clients C1 C1.b C2
			C1 acquire => ok
			server fails over without C1
			C1.b acquire => no
			C2 acquire => no
			C1 release hold before first write => held-up
			C1 continue => ok
			C1.b acquire => ok
			C2 acquire => no
			C1.b release => ok
			server demotes the old primary
			C1 acquire => no`,
			"safe", []string{"redis split-brain: effective", "C1.b acquire: no", "C2 acquire: no", "C1 hold: effective", "C1 release: ok", "C1.b acquire: ok",
				"C2 acquire: no", "C1.b release: ok", "redis split-brain: recover", "C1 acquire: no"}},

		"server demotes the old primary": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release => ok
			server fails over without C1
			C1 acquire => ok
			C2 acquire => ok
			C1 release => ok
			C1 acquire => ok
			C1 release => ok
			server demotes the old primary
			C1 acquire => no
			C2 release => ok
			C1 acquire => ok`,
			"double-holder", []string{"redis split-brain: inject", "redis split-brain: effective", "C1 acquire: ok", "C2 acquire: ok", "C1 release: ok",
				"redis split-brain: recover", "C1 acquire: no", "C2 release: ok", "C1 acquire: ok"}},

		"nobody acknowledges": {"setpx-lua-wait", `
			lease 20s
			clients C1 C2 C3
			other-key C3
			C3 acquire => ok
			server saves
			C1 acquire => no
			server restarts as saved
			C2 acquire => ok
			C3 release => ok`,
			"safe", []string{"C1 sends SET", "C1 sends EVAL", "C1 acquire: no", "redis restart: effective", "C2 acquire: ok", "C3 release: ok"}},

		"server requires a replica": {"setpx-lua", `
			lease 60s
			clients C1 C2 C3
			other-key C3
			server requires a replica
			C1 acquire => ok
			C3 acquire => ok
			server saves
			wait until writes are refused => ok
			C1 release => unknown
			C2 acquire => no
			server restarts as saved
			C1 release => ok
			C2 acquire => ok
			C3 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: unknown", "C2 acquire: no", "redis restart: effective", "C1 release: ok", "C2 acquire: ok"}},

		"a transaction that is refused": {"setnx-watch", `
			lease 60s
			clients C1 C3
			other-key C3
			server requires a replica
			C1 acquire => ok
			C3 acquire => ok
			server saves
			wait until writes are refused => ok
			C1 release => no
			server restarts as saved
			C3 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: no", "redis restart: effective", "C3 release: ok"}},
	}
}
