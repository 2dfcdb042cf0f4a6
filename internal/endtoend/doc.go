// Package endtoend runs the lab as its users do: the command, built once, in a directory of its own, beside servers and a
// toxiproxy that are none of its own. It has tests only.
package endtoend
