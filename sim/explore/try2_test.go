package explore

import (
	"context"
	"fmt"
	"github.com/locklab/locklab/impls"
	"os"
	"testing"
)

func TestChain(t *testing.T) {
	if os.Getenv("CHAIN") == "" {
		t.Skip()
	}
	spec, _ := impls.Find(os.Getenv("CHAIN"))
	c := Config{Lock: spec, Clients: 3, Rounds: 1}
	x := newExplorer(c, true, spec.Renews)
	err := x.search(context.Background())
	fmt.Println(err)
	for i, n := range x.automaton.nodes {
		if ones32(uint32(n.tokens&0xff)) >= 4 && n.client == 0 {
			fmt.Println(i, n.tokens)
			for k := uint32(i); x.automaton.nodes[k].before != k; k = x.automaton.nodes[k].before {
				m := x.automaton.nodes[k]
				fmt.Println("   ", k, m.by, "used", m.when.used, m.idle, x.texts.replies[func() uint32 {
					if m.by.kind == inputReply {
						return m.by.arg
					}
					return 0
				}()].replies, x.texts.requests[m.slots[0].request].commands, m.tokens)
			}
			return
		}
	}
}
