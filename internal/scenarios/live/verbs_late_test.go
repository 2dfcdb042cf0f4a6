//go:build linux || darwin

package live_test

// lateVerbs are about what arrives late, and about time-outs. The reply to a command and the word that its copy is kept come in either order.
func lateVerbs() map[string]verbTest {
	return map[string]verbTest{
		"hold a copy": {"setpx-del", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold copy of first DEL => ok
			C2 acquire => ok
			C1 arrives late`,
			"wrongful-delete", []string{"C1 sends DEL", "C1 hold-copy: effective", "C2 acquire: ok", "C1 hold-copy: recover",
				"C1 sends DEL again late unheard"}},

		"a copy of a transaction": {"setnx-watch", `
			lease 60s
			clients C1 C2
			C1 acquire => ok
			C1 release hold copy of first EXEC => ok
			C2 acquire => ok
			C1 continue => done`,
			"wrongful-delete", []string{"C1 sends EXEC", "C1 hold-copy: effective", "C2 acquire: ok", "C1 sends EXEC again late unheard"}},

		"late beside what is held": {"setpx-del-resend", `
			lease 60s
			clients C1 C2
			C1 acquire hold before first SET, hold before second SET => held-up
			C1 lose replies
			C1 heal
			C1 await => held-up
			C1 arrives late
			C1 continue => no
			C2 acquire => no`,
			"ghost-lock", []string{"C1 hold: effective", "C1 hold: effective", "C1 hold: recover", "C1 sends SET", "C1 hold: recover",
				"C1 sends SET", "C1 acquire: no", "C2 acquire: no"}},

		"late to one of several servers": {"redlock", `
			lease 60s
			clients C1 C2
			servers 3
			C1 acquire hold before first SET on S3 => held-up
			C1 lose replies from S3
			C1 heal S3
			C1 await => ok
			C1 arrives late
			C2 acquire => no`,
			"safe", []string{"C1 hold: effective", "C1 acquire: ok", "C1 hold: recover", "C1 sends SET late", "C2 acquire: no"}},

		"times out": {"redlock", `
			lease 20s
			clients C1 C2
			servers 3
			C1 acquire hold before first SET on S1, hold before first SET on S3 => held-up
			C1 times out => held-up
			C1 arrives late
			C1 continue => ok
			C2 acquire => no`,
			"safe", []string{"C1 acquire", "C1 hold: effective", "C1 hold: effective", "C1 hold: recover", "C1 sends SET",
				"C1 hold: recover", "C1 acquire: ok", "C2 acquire: no"}},

		"times out while its client is paused": {"redlock", `
			lease 20s
			clients C1
			servers 3
			C1 acquire hold before first SET on S3, hold reply of first SET on S3 => held-up
			C1 pause
			C1 continue => held-up
			C1 resume
			C1 times out => ok
			C1 release => ok`,
			"safe", []string{"C1 hold: effective", "C1 pause: effective", "C1 hold: recover", "C1 sends SET", "C1 hold-reply: effective",
				"C1 acquire: ok", "C1 release: ok"}},
	}
}
