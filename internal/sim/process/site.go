package process

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"github.com/locklab/locklab/impls"
)

// modelCode is how the names of the model's own functions begin, which stand between a lock and its wait.
var modelCode = path.Dir(reflect.TypeFor[Process]().PkgPath())

// sites are the lines that ask for what the running task waits for, the innermost first, without the model's own.
func sites() (list []string) {
	var frames [64]uintptr
	stack := runtime.CallersFrames(frames[:runtime.Callers(2, frames[:])])
	for {
		f, more := stack.Next()
		if strings.Contains(f.Function, "/") && !strings.HasPrefix(f.Function, modelCode) {
			list = append(list, fmt.Sprintf("%s:%d", path.Base(f.File), f.Line))
		}
		if !more {
			return list
		}
	}
}

// SourceOf is the file that has the code of a lock, and the line at which it begins: another lock's may stand before it.
func SourceOf(spec impls.Spec) (file string, line int) {
	begins := reflect.ValueOf(spec.New).Pointer()
	file, line = runtime.FuncForPC(begins).FileLine(begins)
	return path.Base(file), line
}
