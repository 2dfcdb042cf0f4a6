package learn

import "strings"

// Clients differ in their tokens only: the third token of the first client is "C1#c". Two clients change places by exchanging these names in
// every message and every key.

// mostTokens is how many tokens a client can have in use at a time.
const mostTokens = 12

// Tokens is a set of tokens, mostTokens of each client.
type Tokens uint64

// tokenLength is that of a token's name. It ends by itself, whatever follows.
const tokenLength = 4

func tokenName(client, n int) string {
	return string([]byte{'C', byte('1' + client), '#', byte('a' + n)})
}

// Of are the tokens of one client.
func (t Tokens) Of(client int) uint16 { return uint16(t>>(mostTokens*client)) & (1<<mostTokens - 1) }

// Mentioned are the tokens that a text contains.
func Mentioned(text string) (found Tokens) {
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
		if text[at+2] == '#' && client >= 0 && client < MostClients && n >= 0 && n < mostTokens {
			visit(at, client, n)
		}
	}
}

// Order says which client takes the place of each.
type Order [MostClients]uint8

// Rename puts the clients in a text into another order.
func (o *Order) Rename(text string) string {
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

// Permutations lists the orders of n clients; the first changes nothing.
func Permutations(n int) []Order {
	var all []Order
	var o Order
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

// Set puts a set of clients into the order.
func (o *Order) Set(clients uint8) (renamed uint8) {
	for i := range MostClients {
		if clients&(1<<i) != 0 {
			renamed |= 1 << o[i]
		}
	}
	return renamed
}
