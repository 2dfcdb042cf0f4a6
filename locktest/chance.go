package locktest

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"sync"
)

// chance is what random numbers depend on while a search of every schedule lasts: on what their client has been given. The functions of math/rand/v2 and
// readers that a library has kept cannot be had.
type chance struct {
	mu     sync.Mutex
	stream *randv2.ChaCha8

	// To seed math/rand takes as long as a few messages: that is done before each step only when somebody has drawn a number.
	drawn    bool
	expected *rand.Rand // what math/rand draws if nobody else does
}

// seedFunctions seeds the functions of math/rand.
func seedFunctions(n uint64) {
	rand.Seed(int64(n)) //lint:ignore SA1019 nothing else reaches them
}

// takeChance has random numbers come from c until giveBack is called.
func takeChance() (c *chance, giveBack func()) {
	c = &chance{stream: randv2.NewChaCha8([32]byte{}), expected: rand.New(rand.NewSource(0))}
	reader, setting := cryptorand.Reader, os.Getenv("GODEBUG")
	cryptorand.Reader = c
	_ = os.Setenv("GODEBUG", setting+",randseednop=0") // so that Seed has an effect
	seedFunctions(0)
	return c, func() {
		cryptorand.Reader = reader
		seedFunctions(randv2.Uint64())
		_ = os.Setenv("GODEBUG", setting)
	}
}

// Read is that of crypto/rand.Reader.
func (c *chance) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return io.ReadFull(c.stream, b)
}

func (c *chance) seed(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], n)
	c.stream.Seed(key)
	if c.drawn {
		seedFunctions(n)
	}
}

// firstDrawn says whether numbers of math/rand have been drawn for the first time: what has been played since has drawn others than it will from now on.
func (c *chance) firstDrawn() bool {
	if c.drawn {
		return false
	}
	c.drawn = rand.Int63() != c.expected.Int63()
	return c.drawn
}
