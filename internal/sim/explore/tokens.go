package explore

import "strings"

// Clients differ in their tokens only: the third token of the first client is "C1#c". Two clients change places by exchanging these names in
// every message and every key.

// mostTokens is how many tokens a client can have in use at a time.
const mostTokens = 12

// tokens is a set of tokens, mostTokens of each client.
type tokens uint64

// tokenLength is that of a token's name. It ends by itself, whatever follows.
const tokenLength = 4

func tokenName(client, n int) string {
	return string([]byte{'C', byte('1' + client), '#', byte('a' + n)})
}

// of are the tokens of one client.
func (t tokens) of(client int) uint16 { return uint16(t>>(mostTokens*client)) & (1<<mostTokens - 1) }

// mentioned are the tokens that a text contains.
func mentioned(text string) (found tokens) {
	eachToken(text, func(_, client, n int) { found |= 1 << (mostTokens*client + n) })
	return found
}

// eachToken calls visit for each token in a text, with its place and its client.
func eachToken(text string, visit func(at, client, n int)) {
	for at := 0; at+tokenLength <= len(text); at++ {
		next := strings.IndexByte(text[at:], 'C')
		if next < 0 || at+next+tokenLength > len(text) {
			return
		}
		at += next
		client, n := int(text[at+1])-'1', int(text[at+3])-'a'
		if text[at+2] == '#' && client >= 0 && client < mostClients && n >= 0 && n < mostTokens {
			visit(at, client, n)
		}
	}
}

// order says which client takes the place of each.
type order [mostClients]uint8

// rename puts the clients in a text into another order.
func (o *order) rename(text string) string {
	renamed := []byte(nil)
	eachToken(text, func(at, client, _ int) {
		if renamed == nil {
			renamed = []byte(text)
		}
		renamed[at+1] = '1' + o[client]
	})
	if renamed == nil {
		return text
	}
	return string(renamed)
}

// permutations lists the orders of n clients; the first changes nothing.
func permutations(n int) []order {
	var all []order
	var o order
	for i := range o {
		o[i] = uint8(i)
	}
	var place func(at int)
	place = func(at int) {
		if at == n {
			all = append(all, o)
			return
		}
		for i := at; i < n; i++ {
			o[at], o[i] = o[i], o[at]
			place(at + 1)
			o[at], o[i] = o[i], o[at]
		}
	}
	place(0)
	return all
}

// usedTokens are those that a client, a server or a message still has.
func (x *explorer) usedTokens(s *state) (used tokens) {
	for i := range x.clients {
		c := &s.clients[i]
		if c.phase != crashed {
			used |= x.automaton.nodes[c.node].tokens
		}
		for _, r := range c.replies {
			used |= x.texts.replies[r].tokens
		}
		for _, r := range c.travel {
			used |= x.texts.requests[r&travelAll].tokens
		}
	}
	for i := range x.serverCount {
		used |= x.servers.states[s.servers[i]].tokens
		if r := s.replicas[i]; r != 0 {
			used |= x.replicas.tokens(r)
		}
	}
	return used
}
