package process

import (
	"encoding/binary"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/locklab/locklab/impls"
)

// A lock that asks a real clock, or draws chance, may do the same for as long as a search takes, and something else in a real run. So may one whose own
// goroutines run when the search does not see them. So the machine code that it consists of is searched for calls of what is not its Env's.

// outsiders are functions by which real time or chance gets into a lock, or a goroutine of its own: a go statement calls runtime.newproc. A name that ends with a point stands for all of a package.
// runtime.rand is none: making a map calls it, for a seed that only the order of the keys shows. Source code draws chance by functions that are named here.
var outsiders = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "time.now",
	"time.runtimeNano", "time.runtimeNow", "runtime.nanotime", "runtime.rand64", "runtime.rand32",
	"runtime.legacy_fastrand", "runtime.legacy_fastrandn", "runtime.legacy_fastrand64",
	"context.WithTimeout", "context.WithDeadline", "context.WithTimeoutCause", "context.WithDeadlineCause",
	"runtime.newproc", "sync.(*WaitGroup).Go", "context.AfterFunc",
	"math/rand.", "math/rand/v2.", "crypto/rand.", "crypto/internal/rand.", "crypto/internal/sysrand.", "hash/maphash.MakeSeed", "os.",
	"syscall.Gettimeofday", "syscall.gettimeofday", "syscall.Time", "syscall.Getpid", "syscall.Syscall", "syscall.RawSyscall", "golang.org/x/sys/unix.",
}

// identities are functions by which a process knows itself from others, and what becomes of them when they are inlined.
var identities = []string{"os.Getpid", "os.Getppid", "syscall.Getpid", "syscall.Getppid", "syscall.rawSyscallNoError"}

// methods are those of a lock that the lab calls.
var methods = []string{"TryAcquire", "Release", "Valid", "Fence", "RetryAfter", "Enter", "Leave", "Renew", "Held"}

// Callers are functions, by where they begin.
type Callers map[uintptr]bool

// Outside names a function by which real time, chance or a goroutine gets into a lock, and the function that calls it; empty: none is seen. It follows direct calls,
// also those that have been inlined, and those of what package variables have (amd64): from New, from the lock's methods, from functions that have asked its Env, and from what the
// lock keeps.
func Outside(spec impls.Spec, made impls.Lock, callers Callers) (called, by string) {
	return callOf(spec, made, callers, outsider)
}

// Identity names a function of a lock that asks for a number by which processes differ; empty: none is seen.
func Identity(spec impls.Spec, made impls.Lock) (by string) {
	_, by = callOf(spec, made, nil, func(name string) bool { return slices.Contains(identities, name) })
	return by
}

// callOf finds a call of a function of some kind.
func callOf(spec impls.Spec, made impls.Lock, callers Callers, wanted func(name string) bool) (called, by string) {
	var entries []uintptr
	lock := reflect.TypeOf(made)
	for _, name := range methods {
		if m, found := lock.MethodByName(name); found {
			entries = append(entries, m.Func.Pointer())
		}
	}
	entries = append(entries, reflect.ValueOf(spec.New).Pointer())
	for entry := range callers {
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	kept := codeFinder{seen: map[reference]bool{}}
	kept.value(reflect.ValueOf(made))
	for _, entry := range kept.entries {
		if name := runtime.FuncForPC(entry).Name(); wanted(name) {
			return name, strings.TrimPrefix(lock.String(), "*")
		} else if !standard(name) {
			entries = append(entries, entry)
		}
	}
	seen := map[uintptr]bool{}
	for len(entries) > 0 {
		entry := entries[0]
		if entries = entries[1:]; seen[entry] {
			continue
		}
		seen[entry] = true
		if name := inlined(entry, wanted); name != "" {
			return name, runtime.FuncForPC(entry).Name()
		}
		for _, callee := range calls(entry) {
			switch name := runtime.FuncForPC(callee).Name(); {
			case wanted(name):
				return name, runtime.FuncForPC(entry).Name()
			case !standard(name):
				entries = append(entries, callee)
			}
		}
	}
	return "", ""
}

func outsider(name string) bool {
	return slices.ContainsFunc(outsiders, func(o string) bool { return name == o || strings.HasSuffix(o, ".") && strings.HasPrefix(name, o) })
}

// standard says whether a function is the standard library's: the first part of its path has no point.
func standard(name string) bool {
	path, _, deep := strings.Cut(name, "/")
	if !deep {
		path, _, _ = strings.Cut(name, ".")
		return path != "main"
	}
	return !strings.Contains(path, ".")
}

// NoteCallers has the functions noted that ask the Env from now on.
func (p *Process) NoteCallers(callers Callers) { p.callers = callers }

// noteCallers notes the functions that are asking the Env.
func (p *Process) noteCallers() {
	if p.callers == nil {
		return
	}
	var frames [64]uintptr
	for _, pc := range frames[:runtime.Callers(2, frames[:])] {
		if f := runtime.FuncForPC(pc - 1); f != nil && !standard(f.Name()) {
			p.callers[f.Entry()] = true
		}
	}
}

const (
	mostCode  = 1 << 16 // bytes of a function
	alignment = 16      // of functions
)

// inlined names a function of some kind that has been inlined into another, which begins there; empty: none has been.
func inlined(entry uintptr, wanted func(name string) bool) string {
	const step = 4 // bytes; to read a package variable takes more
	own := runtime.FuncForPC(entry).Name()
	for size := uintptr(step); size < mostCode; size += step {
		f := runtime.FuncForPC(entry + size)
		if f == nil || f.Entry() != entry {
			break
		}
		if name := f.Name(); name != own && wanted(name) {
			return name
		}
	}
	return ""
}

// calls are the functions that a function calls directly, by where they begin. It knows the instructions of amd64 and arm64.
func calls(entry uintptr) (callees []uintptr) {
	size := uintptr(alignment)
	for f := runtime.FuncForPC(entry + size); size < mostCode && f != nil && f.Entry() == entry; f = runtime.FuncForPC(entry + size) {
		size += alignment
	}
	add := func(target uintptr) {
		if f := runtime.FuncForPC(target); f != nil && f.Entry() == target && target != entry {
			callees = append(callees, target)
		}
	}
	code := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&entry))), size)
	switch runtime.GOARCH {
	case "amd64":
		for at := 0; at+7 <= len(code); at++ {
			target := func(length int) uintptr {
				return entry + uintptr(at+length) + uintptr(int32(binary.LittleEndian.Uint32(code[at+length-4:])))
			}
			if code[at] == 0xe8 {
				add(target(5))
			}
			if code[at]&0xfb == 0x48 && code[at+1] == 0x8b && code[at+2]&0xc7 == 5 { // MOVQ of a variable to a register
				for _, callee := range inVariable(target(7)) {
					add(callee)
				}
			}
		}
	case "arm64":
		for at := 0; at+4 <= len(code); at += 4 {
			if word := binary.LittleEndian.Uint32(code[at:]); word>>26 == 0x25 {
				add(entry + uintptr(at) + uintptr(int32(word<<6)>>6)*4)
			}
		}
	}
	return callees
}
