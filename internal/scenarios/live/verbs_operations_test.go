//go:build linux || darwin

package live_test

// operations are about what clients do, and breakpoints in it.
func operationVerbs() map[string]verbTest {
	return map[string]verbTest{
		"operations": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire => no
			C1 work => ok
			C1 check => ok
			C1 release => ok
			C2 acquire within 10s => ok
			C2 work => ok
			C2 release => ok`,
			"safe", []string{"C1 acquire: ok", "C2 acquire: no", "C1 work: ok", "C1 check: ok", "C1 release: ok", "C2 acquire: ok",
				"C2 work: ok", "C2 release: ok", "counter 2"}},

		"release anyway": {"setpx-del", `
			lease 60s
			clients C1 C2 C3
			C1 acquire => ok
			C2 acquire
			C2 release anyway => ok
			C3 acquire => ok`,
			"double-holder, wrongful-delete", []string{"C1 acquire: ok", "C2 acquire: no", "C2 sends DEL", "C2 release: ok", "C3 acquire: ok"}},

		"release anyway of a lock that checks": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C2 release anyway => no
			C1 acquire => ok
			C2 acquire
			C2 release anyway => no
			C1 release => ok`,
			"safe", []string{"C2 release: no", "C1 acquire: ok", "C2 acquire: no", "C2 sends EVALSHA", "C2 release: no", "C1 release: ok"}},

		"release if unknown": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first DEL => held-up
			C1 give up => unknown
			C1 release if unknown => ok
			C1 release if unknown
			C2 acquire => ok`,
			"safe", []string{"C1 release: unknown", "C1 release: ok", "skipped: C1 release if unknown", "C2 acquire: ok"}},

		"await in background": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s in background
			C1 release => ok
			C2 await => ok
			C2 release => ok`,
			"safe", []string{"C1 acquire: ok", "C2 acquire", "C1 release", "C2 acquire: ok"}},

		"hold a request": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first write => held-up
			C2 acquire => ok
			C2 release => ok
			C1 continue => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire", "C1 hold: effective", "C2 acquire: ok", "C2 release: ok", "C1 sends SET", "C1 acquire: ok"}},

		"hold at two requests": {"getset", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire hold before first SETNX, hold before first GET => held-up
			C2 continue => held-up
			C1 release => ok
			C2 continue => ok
			C2 release => ok`,
			"safe", []string{"C2 acquire", "C2 hold: effective", "C2 sends SETNX", "C2 hold: effective", "C1 release: ok", "C2 sends GET", "C2 acquire: ok"}},

		"hold a reply": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire hold reply of first write => held-up
			C2 acquire => no
			C1 continue => ok
			C1 release => ok`,
			"safe", []string{"C1 sends SET", "C1 hold-reply: effective", "C2 acquire: no", "C1 acquire: ok"}},

		"drop a reply": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire drop reply of first write => held-up
			C1 give up => unknown
			C2 acquire => no`,
			"ghost-lock", []string{"C1 sends SET unheard", "C1 reply-lost: effective", "C1 acquire: unknown", "C2 acquire: no"}},

		"give up before the request arrives": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first write => held-up
			C1 give up => unknown
			C1 continue => done
			C2 acquire => no`,
			"ghost-lock", []string{"C1 hold: effective", "C1 acquire: unknown", "C1 sends SET late", "C2 acquire: no"}},

		"duplicate": {"setpx-del", `
			lease 60s
			clients C1
			C1 acquire duplicate first write => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire", "C1 sends SET", "C1 duplicate: effective", "C1 release"}},

		"pause": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 pause
			C2 acquire => no
			C1 resume
			C1 release => ok`,
			"safe", []string{"C1 pause: inject", "C1 pause: effective", "C2 acquire: no", "C1 pause: recover", "C1 release: ok"}},

		"crash": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 crash
			C2 acquire => no`,
			"safe", []string{"C1 crash: inject", "C1 exit", "C1 crash: effective", "C2 acquire: no"}},

		"a thread dies": {"setpx-lua", `
			lease 60s
			clients C1 C1/2
			C1 acquire => ok
			C1 thread dies
			C1/2 acquire => no`,
			"safe", []string{"C1 acquire: ok", "C1 exit", "C1/2 acquire: no"}},

		"continue in background": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s hold before first write => held-up
			C2 continue in background
			C1 release => ok
			C2 await => ok`,
			"safe", []string{"C2 hold: effective", "C2 hold: recover", "C1 sends DEL", "C2 acquire: ok"}},

		"hold a renewal": {"watchdog", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			C1 renews hold before first write => held-up
			C1 release => ok
			C2 acquire => ok
			C1 continue => done
			C2 release => ok`,
			"safe", []string{"C1 hold: effective", "C1 release: ok", "C2 acquire: ok", "C1 hold: recover", "C1 sends EVAL", "C2 release: ok"}},

		"wait until renewed": {"watchdog", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until renewed => ok
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"wait in vain until renewed": {"setpx-lua", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until renewed => no`,
			"safe", []string{"C1 acquire: ok"}},

		"takes in the reply": {"redisson-published", `
			lease 3s
			clients C1 C1/2 C2
			C1 acquire => ok
			C1 takes in the reply => done
			C1 renews hold reply of first write => held-up
			C1 release => ok
			C1 continue => done
			C1 takes in the reply => done
			C1/2 acquire => ok
			C2 acquire within 1.5 leases => ok`,
			"double-holder", []string{"C1 acquire: ok", "C1 hold-reply: effective", "C1 release: ok", "C1 hold-reply: recover", "C1/2 acquire: ok", "C2 acquire: ok"}},

		"waits until lost": {"watchdog", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			server restarts empty
			C1 waits until lost => ok
			C1 work
			C2 acquire => ok`,
			"safe", []string{"C1 acquire: ok", "redis restart: effective", "C1 lost", "skipped: C1 work", "C2 acquire: ok"}},

		"waits in vain until lost": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			C2 acquire
			C2 waits until lost
			C1 waits until lost => no`,
			"safe", []string{"C1 acquire: ok", "C2 acquire: no", "skipped: C2 waits until lost"}},

		"a release given up in time": {"setpx-lua-published/endless-release", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until expired => expired
			C1 release within 1.5 leases => unknown`,
			"hung-operation", []string{"C1 acquire: ok", "C1 release", "C1 release: unknown"}},

		"two locks of a process on one key": {"setpx-lua", `
			lease 60s
			clients C1 C1/2
			C1 acquire => ok
			C1/2 acquire
			C1/2 work
			C1 work => ok
			C1/2 acquire within 10s hold before first write => held-up
			C1 release => ok
			C1/2 continue => ok
			C1/2 work => ok
			C1/2 release => ok`,
			"safe", []string{"C1/2 acquire: no", "skipped: C1/2 work", "C1 work: ok", "C1/2 hold: effective", "C1 release: ok", "C1/2 sends SET",
				"C1/2 acquire: ok", "C1/2 work: ok", "counter 2"}},

		"two locks of a process on two keys": {"setpx-lua", `
			lease 60s
			clients C1 C1.b C2
			other-key C1.b
			C1 acquire => ok
			C1.b acquire => ok
			C1.b work => ok
			C2 acquire => no
			C1 crash`,
			"safe", []string{"C1.b acquire: ok", "C1.b work: ok", "C2 acquire: no", "C1 crash: inject", "C1 exit", "C1.b exit", "C1 crash: effective",
				"counter 0", "counter 1"}},

		"what befalls a process befalls all its locks": {"setpx-lua", `
			lease 60s
			clients C1 C1.b C2
			C1.b acquire => ok
			C1 cut off
			C1.b release in background
			C2 acquire => no
			C1 heal
			C1.b await => ok
			C2 acquire => ok
			C1 refuse
			C1.b acquire => unknown
			C1 heal`,
			"safe", []string{"C1 partition: effective", "C1.b release", "C2 acquire: no", "C1.b release: ok", "C1 refuse: effective", "C1.b acquire: unknown"}},
	}
}
