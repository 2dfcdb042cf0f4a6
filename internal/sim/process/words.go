package process

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// Words are the arguments of a command as go-redis sends them, but for a net.IP, which is refused. A lock that hands over what go-redis refuses gets
// the same error, and nothing is sent.
func Words(args []any) ([]string, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		word, err := word(arg)
		if err != nil {
			return nil, err
		}
		words[i] = word
	}
	return words, nil
}

func word(arg any) (string, error) {
	switch v := arg.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr:
		return fmt.Sprint(v), nil
	case float32:
		return word(float64(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return word(v.Nanoseconds())
	}
	if p := reflect.ValueOf(arg); p.Kind() == reflect.Pointer && isWord(p.Type().Elem()) {
		if p.IsNil() {
			return word(reflect.Zero(p.Type().Elem()).Interface())
		}
		return word(p.Elem().Interface())
	}
	if v, ok := arg.(encoding.BinaryMarshaler); ok {
		b, err := v.MarshalBinary()
		return string(b), err
	}
	return "", fmt.Errorf("redis: can't marshal %T (implement encoding.BinaryMarshaler)", arg)
}

// isWord says whether go-redis sends what a pointer to the type points to.
func isWord(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration]():
		return true
	}
	return t.PkgPath() == "" && (t.Kind() <= reflect.Float64 || t.Kind() == reflect.String)
}
