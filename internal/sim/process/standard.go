package process

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// What the standard library keeps behind unsafe pointers, by chance, or to itself, is encoded by what its methods can show.

var (
	builderType = reflect.TypeFor[strings.Builder]()
	syncMapType = reflect.TypeFor[sync.Map]()
	poolType    = reflect.TypeFor[sync.Pool]()
)

// standard encodes a struct of the standard library that is not encoded field by field. It says whether it is one.
func (m *memory) standard(v reflect.Value) bool {
	switch t := v.Type(); {
	case t == builderType:
		m.builder(v)
	case t == syncMapType:
		m.syncMap(v)
	case t == poolType:
		m.hide(v, "what it returns depends on chance; make what is needed each time")
	case t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer["):
		m.atomicPointer(v)
	default:
		return false
	}
	return true
}

// atomicPointer encodes an atomic.Pointer as the pointer that it holds, of the type that its first field names.
func (m *memory) atomicPointer(v reflect.Value) {
	held, known := v.Type().FieldByName("v")
	if first := v.Type().Field(0).Type; known && first.Kind() == reflect.Array && first.Elem().Kind() == reflect.Pointer {
		m.value(reflect.NewAt(first.Elem().Elem(), v.FieldByIndex(held.Index).UnsafePointer()))
		return
	}
	m.hide(v, insteadOfPlain)
}

// builder encodes what a strings.Builder has, and how much room. What lies behind the end shows nowhere. It points to itself, unless it has been copied.
func (m *memory) builder(v reflect.Value) {
	self, text := v.FieldByName("addr"), v.FieldByName("buf")
	if !self.IsValid() || !text.IsValid() || !v.CanAddr() || !self.IsNil() && self.Pointer() != v.UnsafeAddr() {
		m.hide(v, "it has been copied; keep a pointer to it")
		return
	}
	m.number(int64(text.Cap()))
	m.elements(text)
}

// syncMap encodes a sync.Map as its entries: where they are kept is a matter of chance.
func (m *memory) syncMap(v reflect.Value) {
	if !v.CanAddr() {
		m.hide(v, "it has been copied; keep a pointer to it")
		return
	}
	entries := (*sync.Map)(unsafe.Pointer(v.UnsafeAddr()))
	m.entries(v, func(yield func(key, value reflect.Value)) {
		entries.Range(func(key, value any) bool {
			yield(reflect.ValueOf(&key).Elem(), reflect.ValueOf(&value).Elem())
			return true
		})
	})
}
