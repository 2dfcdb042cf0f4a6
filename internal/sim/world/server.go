package world

import (
	"slices"
	"time"

	"github.com/locklab/locklab/internal/sim/process"
	"github.com/locklab/locklab/internal/sim/service"
)

// model is the model of a server of some kind, as a search needs it.
type model interface {
	service.Server
	// Clone is a server in the same state, from which it goes on by itself.
	Clone() model
	// AppendState appends all that its future depends on.
	AppendState(b []byte) []byte
	// AppendUnder appends the same as it would be if the clients were in another order.
	AppendUnder(o *order, b []byte) []byte
	// Expiries are how long what ends by itself lasts, but for sessions, which end by what their clients do.
	Expiries() []time.Duration
}

// server is a server, or the resource. Its model is never changed: a change makes another one.
type server struct {
	model  model
	behind []model // as replicas have it that lack the last write, the last two and so on
}

// passes lets time pass.
func (v server) passes(d int) server {
	v.behind = slices.Clone(v.behind)
	advance := func(m *model) {
		*m = (*m).Clone()
		(*m).Advance(duration(d))
	}
	advance(&v.model)
	for i := range v.behind {
		advance(&v.behind[i])
	}
	return v
}

// appendTo appends all of a server, of whose models it appends that.
func (v *server) appendTo(b []byte, of func(model, []byte) []byte) []byte {
	b = of(v.model, b)
	for _, behind := range v.behind {
		b = of(behind, append(b, "|behind"...))
	}
	return b
}

// change is a server that is about to change.
func (w *world) change(number int) *server {
	v := w.at(number)
	v.model = v.model.Clone()
	return v
}

// at is a server by its number; the resource has one of its own.
func (w *world) at(number int) *server {
	w.reads.servers |= 1 << (number + 1)
	if number == process.Resource {
		return &w.resource
	}
	return &w.servers[number]
}

// connection is what a server calls a connection of a client.
func connection(client, conn int) int { return client*100 + conn }

// clientOf is whose a connection is.
func clientOf(connection int) int { return connection / 100 }
