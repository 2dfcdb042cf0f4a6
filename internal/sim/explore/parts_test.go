package explore

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A part without padding is hashed, and compared, in one go; see gap.
func TestPartsHaveNoPadding(t *testing.T) {
	for _, part := range []any{client{}, common{}} {
		kind := reflect.TypeOf(part)
		assert.Equal(t, kind.Size(), withoutPadding(kind), kind.Name())
	}
}

// withoutPadding is how many bytes the values in a type take.
func withoutPadding(kind reflect.Type) (bytes uintptr) {
	switch kind.Kind() {
	case reflect.Struct:
		for i := range kind.NumField() {
			bytes += withoutPadding(kind.Field(i).Type)
		}
		return bytes
	case reflect.Array:
		return uintptr(kind.Len()) * withoutPadding(kind.Elem())
	}
	return kind.Size()
}
