package impls

// All lists the locks, in the order in which reports show them: each the answer to the trouble of the one before.
func All() []Spec {
	return []Spec{
		setnxDel(),
		getset(),
		setpxDel(),
		setpxGetdel(),
		setpxLua(),
		watchdog(),
		resending(setpxDel(), "setpx-del-resend",
			"DEL is sent again when its reply is lost, and then removes the lock of whoever has it by now"),
		resending(setpxLua(), "setpx-lua-resend",
			"SET NX is sent again when its reply is lost, and is refused by the lock that the first one took"),
	}
}

// Find returns the lock of that name.
func Find(name string) (Spec, bool) {
	for _, spec := range All() {
		if spec.Name == name {
			return spec, true
		}
	}
	return Spec{}, false
}

// resending is the same lock used through a client library left at its default retries.
func resending(spec Spec, name, bug string) Spec {
	spec.Name = name
	spec.Idea += "; through a client library left at its default retries"
	spec.Bug = bug
	spec.Resends = true
	return spec
}
