package process

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFunctionsThatCapture(t *testing.T) {
	t.Parallel()
	for name, may := range map[string]bool{
		"lock.New":              false,
		"lock.New.func1":        true,
		"lock.init.0.func12":    true,
		"lock.(*Lock).held-fm":  true,
		"lock.(*Lock).functor":  false,
		"lock.a.functor.func2":  true,
		"lock.(*Lock).gowrap1":  true,
		"lock.(*Lock).gowrap12": true,
		"lock.unwrap":           false,
		"lock.h3":               false,
	} {
		assert.Equal(t, may, captures(name), name)
	}
}
