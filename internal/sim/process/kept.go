package process

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"unsafe"
)

// codeFinder finds the functions that a lock keeps, and the methods that it can call by the interfaces that it keeps.
type codeFinder struct {
	seen    map[reference]bool
	entries []uintptr
}

func (c *codeFinder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Array:
		c.elements(v)
	case reflect.Struct:
		if t := v.Type(); t == serverType || t == sessionType || t == timeType {
			return
		}
		for i := range v.NumField() {
			c.value(v.Field(i))
		}
	case reflect.Func, reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map:
		if !v.IsNil() {
			c.reference(v)
		}
	}
}

// reference follows what refers to something else.
func (c *codeFinder) reference(v reflect.Value) {
	switch v.Kind() {
	case reflect.Func:
		c.entries = append(c.entries, v.Pointer())
		return
	case reflect.Interface:
		c.methods(v.Type(), v.Elem().Type())
		c.value(v.Elem())
		return
	}
	if v.Kind() == reflect.Pointer && v.Type().Elem() == envType || !c.isNew(v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		c.value(v.Elem())
	case reflect.Slice:
		c.elements(v)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			c.value(each.Value())
		}
	}
}

func (c *codeFinder) elements(v reflect.Value) {
	switch v.Type().Elem().Kind() {
	case reflect.Func, reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		for i := range v.Len() {
			c.value(v.Index(i))
		}
	}
}

// methods adds those of an interface, as a type has them. What an Env gives is the model's.
func (c *codeFinder) methods(of, has reflect.Type) {
	if has == serverType || has == sessionType || has.Kind() == reflect.Pointer && has.Elem() == envType {
		return
	}
	for i := range of.NumMethod() {
		if m, found := has.MethodByName(of.Method(i).Name); found {
			c.entries = append(c.entries, m.Func.Pointer())
		}
	}
}

func (c *codeFinder) isNew(v reflect.Value) bool {
	r := reference{v.Pointer(), v.Type()}
	known := c.seen[r]
	c.seen[r] = true
	return !known
}

// A variable with a function refers to where its code begins; one with an interface refers to words before those of its methods.
const (
	beforeMethods = 3
	mostMethods   = 8
	imageSize     = 1 << 31
)

// inVariable are the functions that a package variable has, if it is one with a function or an interface: by where they begin. The machine code may
// only look as if there was a variable.
func inVariable(at uintptr) (entries []uintptr) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }()
	to := wordAt(at)
	if max(to, at)-min(to, at) > imageSize {
		return nil // it is on the heap, or no address
	}
	if entry := wordAt(to); isEntry(entry) {
		return []uintptr{entry}
	}
	for n := range uintptr(mostMethods) {
		entry := wordAt(to + (beforeMethods+n)*unsafe.Sizeof(to))
		if !isEntry(entry) {
			break
		}
		entries = append(entries, entry)
	}
	return entries
}

// wordAt is the word at an address; 0: no word begins there. Others may write to the variable meanwhile.
//
//go:norace
func wordAt(at uintptr) uintptr {
	if at%unsafe.Alignof(at) != 0 {
		return 0
	}
	return *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&at)))
}

func isEntry(pc uintptr) bool {
	f := runtime.FuncForPC(pc)
	return f != nil && f.Entry() == pc
}
