package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/locklab/locklab/history"
)

// Actors lists the clients, each followed by the further handles in its process.
func (s *Script) Actors() []string {
	var all []string
	for _, client := range s.Clients {
		all = append(all, client)
		all = append(all, s.HandlesOf(client)...)
	}
	return all
}

// HandlesOf lists the further handles in a client's process.
func (s *Script) HandlesOf(client string) []string {
	var all []string
	for _, handle := range s.Handles {
		if history.ProcessOf(handle) == client {
			all = append(all, handle)
		}
	}
	return all
}

// OnOtherKey says whether an actor's lock is for the other key.
func (s *Script) OnOtherKey(actor string) bool { return slices.Contains(s.OtherKey, actor) }

// clients reads the clients and handles: "C1 C1.b C1/2", where C1.b is another lock object in C1's process and C1/2 another thread of it.
func (p *parser) clients(names []string) error {
	if len(names) > maxClients {
		return fmt.Errorf("%d clients are too many; at most %d are possible", len(names), maxClients)
	}
	var clients, handles []string
	for i, name := range names {
		client := history.ProcessOf(name)
		if err := checkName(client); err != nil {
			return err
		}
		if name != client && !isHandle(name[len(client):]) {
			return fmt.Errorf("a handle cannot be called %q; its name is that of its client, and then another lock object, another thread, or both, as in C1.b, C1/2 and C1.b/2", name)
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("client %q is named twice", name)
		}
		if name == client {
			clients = append(clients, name)
			continue
		}
		if !slices.Contains(names, client) {
			return fmt.Errorf("%s is a handle in the process of %s, which is not there; name %s as well", name, client, client)
		}
		handles = append(handles, name)
	}
	p.script.Clients, p.script.Handles = clients, handles
	return p.clash()
}

// isHandle says whether a text names a lock object, a thread or both: ".b", "/2", ".b/2".
func isHandle(text string) bool {
	text, thread, threaded := strings.Cut(text, "/")
	n, err := strconv.Atoi(thread)
	if threaded && (err != nil || n < 1 || n > maxThread || strconv.Itoa(n) != thread) {
		return false
	}
	object, named := strings.CutPrefix(text, ".")
	return named && isName(object) || text == "" && threaded
}

// maxThread is the highest number of a thread.
const maxThread = 99

// same finds an actor that is another one by another name: its thread uses its lock object for its key.
func (s *Script) same() error {
	type identity struct {
		process, object, thread string
		other                   bool
	}
	names := map[identity]string{}
	for _, name := range s.Actors() {
		who := identity{history.ProcessOf(name), history.ObjectOf(name), history.ThreadOf(name), s.OnOtherKey(name)}
		if first := names[who]; first != "" {
			return fmt.Errorf("%s and %s are the same: one thread with one lock object; name another object, as in %[3]s.b, another thread, as in %[3]s/2, or put one of the two on the other key",
				first, name, who.process)
		}
		names[who] = name
	}
	return nil
}

// otherKey checks the header other-key, after all headers have been read.
func (p *parser) otherKey() error {
	actors := p.script.Actors()
	for i, name := range p.script.OtherKey {
		if !slices.Contains(actors, name) {
			return unknownWord("client", name, actors)
		}
		if slices.Contains(p.script.OtherKey[:i], name) {
			return fmt.Errorf("client %q is named twice", name)
		}
	}
	if len(p.script.OtherKey) == len(actors) {
		return fmt.Errorf("all clients are on the other key, so nobody is on the first; remove one")
	}
	return nil
}
