//go:build linux || darwin

package live_test

// disturbances are about clocks, links, servers and waiting.
func faultVerbs() map[string]verbTest {
	return map[string]verbTest{
		"clock ahead": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock ahead 2 leases
			C1 acquire => ok
			C2 acquire => ok`,
			"double-holder, early-grant, overwrite", []string{"C2 skew: inject", "C2 skew: effective", "C1 acquire: ok", "C2 acquire: ok"}},

		"clock behind": {"getset", `
			lease 60s
			clients C1 C2
			C1 clock behind 2 leases
			C1 acquire => ok
			C2 acquire => ok`,
			"double-holder, early-grant, overwrite", []string{"C1 skew: effective", "C1 acquire: ok", "C2 acquire: ok"}},

		"clock right again": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock ahead 2 leases
			C2 clock right
			C1 acquire => ok
			C2 acquire => no`,
			"safe", []string{"C2 skew: effective", "C2 skew: inject", "C2 skew: effective", "C2 acquire: no"}},

		"clock rate": {"getset", `
			lease 60s
			clients C1 C2
			C2 clock rate 1000
			C1 acquire => ok
			C2 acquire within 50s => ok`,
			"double-holder, early-grant, overwrite", []string{"C2 skew: effective", "C1 acquire: ok", "C2 sends SETNX", "C2 acquire: ok"}},

		"cut off": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off
			C1 release in background
			C2 acquire => no
			C1 heal
			C1 await => ok
			C2 acquire => ok`,
			"safe", []string{"C1 partition: effective", "C1 release", "C2 acquire: no", "C1 sends DEL", "C1 release: ok", "C2 acquire: ok"}},

		"cut off requests": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off requests
			C1 release in background
			C2 acquire => no
			C1 heal
			C1 await => ok
			C2 acquire => ok`,
			"safe", []string{"C1 partition: effective", "C1 release", "C2 acquire: no", "C1 sends DEL", "C1 release: ok", "C2 acquire: ok"}},

		"cut off replies": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off replies
			C1 release in background
			C2 acquire within 10s => ok
			C1 heal
			C1 await => ok`,
			"safe", []string{"C1 partition: effective", "C1 sends DEL", "C2 acquire: ok", "C1 release: ok"}},

		"refuse": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 refuse
			C1 check => unknown
			C1 heal
			C1 check => ok
			C1 release => ok
			C2 acquire => ok`,
			"safe", []string{"C1 refuse: effective", "C1 check: unknown", "C1 refuse: recover", "C1 check: ok", "C1 release: ok"}},

		"delay": {"setpx-lua", `
			lease 60s
			clients C1
			C1 acquire => ok
			C1 delay 40ms
			C1 check => ok
			C1 heal
			C1 release => ok`,
			"safe", []string{"C1 delay: effective", "C1 check: ok", "C1 delay: recover", "C1 release: ok"}},

		"server answers after": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server answers after 300ms
			C2 acquire => no
			C1 release => ok
			server answers at once
			C2 acquire => ok`,
			"safe", []string{"redis slow-server: effective", "C1 release: ok", "redis slow-server: recover", "C2 acquire: ok"}},

		"lose replies": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 lose replies
			C1 release in background
			C2 acquire within 10s => ok
			C1 heal
			C1 await => unknown
			C2 release => ok`,
			"safe", []string{"C1 reply-lost: inject", "C1 reply-lost: effective", "C1 sends DEL", "C2 acquire: ok", "C1 release: unknown", "C2 release: ok"}},

		"wait until expired": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok`,
			"double-holder", []string{"C1 acquire: ok", "C2 acquire: ok"}},

		"waits": {"redisson-fair", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C2 acquire within 10s in background
			C2 waits => done
			C1 release => ok
			C2 await => ok`,
			"safe", []string{"C2 acquire", "C2 sends EVALSHA", "C2 sends EVAL", "C1 release", "C2 acquire: ok"}},

		"thread dies": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 thread dies
			C2 acquire => no`,
			"safe", []string{"C1 acquire: ok", "C1 thread-death: inject", "C1 thread-death: effective", "C1 exit", "C2 acquire: no"}},

		"a thread dies, what it began goes on": {"watchdog", `
			lease 2s
			clients C1
			C1 acquire => ok
			C1 thread dies
			wait until renewed => ok
			wait until expired => live`,
			"safe", []string{"C1 thread-death: effective", "C1 exit", "C1 sends EVAL"}},

		"an operator limits the lock": {"setnx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first DEL => held-up
			operator limits lock to 50ms
			wait until freed => ok
			C2 acquire => ok
			C1 continue => ok`,
			"wrongful-delete", []string{"C1 acquire: ok", "redis operator: inject", "redis operator: effective", "C2 acquire: ok"}},

		"await what was held and then cut": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold before first DEL => held-up
			C1 lose replies
			C1 heal
			C1 await => unknown
			C1 release => ok
			C1 release
			C2 acquire => ok`,
			"safe", []string{"C1 hold: effective", "C1 reply-lost: effective", "C1 reply-lost: recover", "C1 release",
				"C1 sends DEL", "C1 release: ok", "C2 acquire: ok", "counter 0"}},

		"a lock that is taken again": {"redisson", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 acquire => ok
			C1 release => ok
			C1 work => ok
			C2 acquire => no
			C1 release => ok
			C2 acquire => ok`,
			"safe", []string{"C1 acquire: ok", "C1 acquire: ok", "C1 release: ok", "C1 work: ok", "C2 acquire: no", "C1 release: ok",
				"C2 acquire: ok", "counter 1"}},

		"no work after a check that said no": {"getset", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok
			C1 check => no
			C1 work
			C1 release => no`,
			"double-holder", []string{"C2 acquire: ok", "C1 check: no", "C1 release: no", "counter 0"}},

		"wait until expired by the reader's clock": {"getset", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait until expired => expired
			C2 acquire => ok`,
			"double-holder", []string{"C1 acquire: ok", "C2 sends GETSET", "C2 acquire: ok"}},

		"wait for a lock that renews itself": {"watchdog", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until expired => live
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"wait for": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			wait for 2 leases
			C2 acquire => ok
			C1 release => no`,
			"double-holder", []string{"C1 acquire: ok", "C2 acquire: ok", "C1 release: no"}},

		"server clock jumps back": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			server clock jumps back 5 leases
			wait for 2 leases
			C2 acquire => no
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C2 acquire: no", "C1 release: ok"}},

		"wait until half over": {"setnx-expire", `
			lease 2s
			clients C1 C2
			C2 acquire hold before first EXPIRE => held-up
			C1 acquire hold before first EXPIRE => held-up
			C2 continue => ok
			wait until half over => done
			C1 continue => no`,
			"wrongful-renew", []string{"C2 acquire: ok", "C1 sends EXPIRE", "C1 acquire: no"}},

		"wait until freed": {"setpx-lua", `
			lease 1s
			clients C1 C2
			C1 acquire => ok
			C1 crash
			wait until freed => ok
			C2 acquire => ok`,
			"safe", []string{"C1 crash: effective", "C2 acquire: ok"}},

		"wait in vain until freed": {"setnx-del", `
			lease 1s
			clients C1
			C1 acquire => ok
			wait until freed => no
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "C1 release: ok"}},

		"server clock jumps": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server clock jumps 0.5 leases
			C2 acquire => no
			server clock jumps 1 lease
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"redis clock-jump: inject", "redis clock-jump: effective", "C2 acquire: no",
				"redis clock-jump: inject", "redis clock-jump: effective", "C2 acquire: ok"}},

		"server restarts as saved": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release => ok
			server saves
			C1 acquire => ok
			server restarts as saved
			C2 acquire => ok
			C1 release => no`,
			"double-holder, early-grant", []string{"C1 acquire: ok", "redis restart: inject", "redis restart: effective", "C2 acquire: ok"}},

		"server restarts as saved a while ago": {"setpx-lua", `
			lease 60s
			clients C1 C2
			server saves
			C1 acquire => ok
			server restarts as saved 300ms ago
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"C1 acquire: ok", "redis restart: effective", "C2 acquire: ok"}},

		"server goes down": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server goes down
			C1 release => unknown
			C2 acquire => unknown
			server comes back
			C2 acquire => no
			C1 release => ok
			C2 acquire => ok
			server goes down
			server comes back
			C2 release => ok`,
			"safe", []string{"C1 acquire: ok", "redis down: inject", "redis down: effective", "C1 release: unknown", "C2 acquire: unknown",
				"redis down: recover", "C2 acquire: no", "C1 release: ok", "C2 acquire: ok", "redis down: recover", "C2 release: ok"}},

		"whichever server has the lock restarts": {"redlock", `
			lease 60s
			clients C1 C2
			servers 3
			C1 acquire hold before first SET on S2 => held-up
			on whichever server restarts empty
			C1 continue => ok
			C2 acquire => no
			C1 release => ok`,
			"safe", []string{"S1 restart: effective", "C1 acquire: ok", "C2 acquire: no", "C1 release: ok"}},
		"whichever server has the lock goes down": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			on whichever server goes down
			C2 acquire => unknown
			on whichever server comes back
			C2 acquire => no
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "redis down: effective", "C2 acquire: unknown", "redis down: recover", "C1 release: ok"}},

		"repeat": {"setpx-lua", `
			lease 60s
			clients C1 C2
			repeat 2
			C1 acquire => ok
			on whichever server saves
			C1 release => ok
			C2 acquire => ok
			C2 release => ok
			end`, "safe", []string{"C1 acquire: ok", "C2 release: ok", "C1 acquire: ok", "C2 release: ok"}},
		"one of three servers goes down": {"redlock", `
			lease 60s
			clients C1 C2
			servers 3
			C1 acquire => ok
			S2 goes down
			C2 acquire => no
			C1 release => ok
			C2 acquire => ok
			S2 comes back
			C2 release => ok`,
			"safe", []string{"S2 down: effective", "C2 acquire: no", "C1 release: ok", "C2 acquire: ok", "S2 down: recover", "C2 release: ok"}},

		"a server goes down while work is held": {"watchdog", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 work hold before first write => held-up
			server goes down
			server comes back
			C1 continue => ok
			C2 acquire => no
			C1 release => ok
			C2 acquire => ok`,
			"safe", []string{"C1 hold: effective", "redis down: effective", "redis down: recover", "C1 work: ok", "C2 acquire: no", "C1 release: ok",
				"C2 acquire: ok"}},

		"a reply to a paused process": {"setpx-getdel", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server saves
			C1 release hold reply of first GET => held-up
			C1 pause
			C1 continue in background
			server restarts as saved
			C1 resume
			C1 await => ok
			C2 acquire => ok`,
			"safe", []string{"C1 hold-reply: effective", "C1 pause: effective", "C1 hold-reply: recover", "redis restart: effective",
				"C1 sends DEL", "C1 release: ok", "C2 acquire: ok"}},

		"what was saved is there again": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server saves => done
			server restarts as saved => done
			C2 acquire => no
			C1 release => ok`,
			"safe", []string{"C1 acquire: ok", "redis restart: effective", "C2 acquire: no", "C1 release: ok"}},

		"server restarts behind a cut": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 cut off
			server restarts empty
			C1 heal
			C1 release => no
			C2 acquire => ok`,
			"safe", []string{"C1 partition: effective", "redis restart: effective", "C1 partition: recover", "C1 release: no", "C2 acquire: ok"}},

		"server restarts while requests are delayed": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 delay 5ms
			server restarts empty
			C1 heal
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"C1 delay: effective", "redis restart: effective", "C1 delay: recover", "C2 acquire: ok"}},

		"server restarts empty": {"setpx-lua", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			server restarts empty
			C2 acquire => ok`,
			"double-holder, early-grant", []string{"redis restart: inject", "redis restart: effective", "C2 acquire: ok"}},
	}
}
