package process

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Channels are told apart by what is in them, and are left as they were.
func TestChannelsAreCompared(t *testing.T) {
	encoded := func(c any) string {
		m := memory{whole: true}
		m.value(reflect.ValueOf(struct{ c any }{c}))
		assert.True(t, m.whole)
		return string(m.bytes)
	}
	with := func(capacity int, values ...string) chan string {
		c := make(chan string, capacity)
		for _, v := range values {
			c <- v
		}
		return c
	}
	closed := with(2)
	close(closed)
	all := map[string]bool{}
	list := []any{with(0), with(2), closed, with(2, "a"), with(2, "a", "b"), with(2, "b", "a"), with(3, "a", "b")}
	for _, c := range list {
		first := encoded(c)
		assert.Equal(t, first, encoded(c))
		all[first] = true
	}
	assert.Len(t, all, len(list))
	both := with(3, "a", "b")
	encoded(both)
	assert.Equal(t, []string{"a", "b"}, []string{<-both, <-both})
	assert.Empty(t, both)
	assert.Equal(t, encoded((<-chan string)(with(1, "a"))), encoded((<-chan string)(with(1, "a"))))
}

func TestAClosedChannelThatIsNotEmptyIsNotCompared(t *testing.T) {
	c := make(chan int, 2)
	c <- 7
	close(c)
	m := memory{whole: true}
	m.value(reflect.ValueOf(c))
	assert.False(t, m.whole)
	assert.Equal(t, 7, <-c)
}

// Such as a context's Done.
func TestAChannelThatSomethingElseClosesIsNotCompared(t *testing.T) {
	c := make(chan struct{})
	whole := func() bool {
		m := memory{whole: true}
		m.value(reflect.ValueOf((<-chan struct{})(c)))
		return m.whole
	}
	assert.False(t, whole())
	close(c)
	assert.True(t, whole())
}
