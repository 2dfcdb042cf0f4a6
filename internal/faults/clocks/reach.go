package clocks

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Reached says whether the program reads the clock that the lab sets: why not, or "". leader is the process that leads its group. All processes of the
// group must have loaded a hook that reaches them; what they start later loads it, too.
func (c *Clock) Reached(leader int) (why string) {
	loaded, err := c.loaded()
	if err != nil {
		return fmt.Sprintf("the lab cannot read which programs have loaded its clock: %v", err)
	}
	if runtime.GOOS != "linux" {
		if len(loaded) == 0 {
			return "the program loads neither the lab's hook for Python nor that for Node"
		}
		return ""
	}
	members := group(leader)
	if len(members) == 0 {
		return "the program has ended"
	}
	for _, pid := range members {
		if why := c.reaches(pid, loaded[pid]); why != "" {
			return why
		}
	}
	return ""
}

// loaded are the hooks that processes have loaded, by process.
func (c *Clock) loaded() (map[int][]string, error) {
	text, err := os.ReadFile(c.path + ".loaded")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	loaded := map[int][]string{}
	for line := range strings.Lines(string(text)) {
		pid, hook, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(pid); err == nil {
			loaded[n] = append(loaded[n], hook)
		}
	}
	return loaded, err
}

// reaches says why a process does not read the clock that the lab sets, or "". A process may have loaded a hook as another program, before it became
// this one.
func (c *Clock) reaches(pid int, loaded []string) (why string) {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	name, err := os.Readlink(exe)
	if err != nil {
		return "" // it has ended meanwhile
	}
	program := filepath.Base(strings.TrimSuffix(name, " (deleted)"))
	for interpreter, hook := range map[string]string{"python": "sitecustomize (python -I, -S and -E prevent that)", "node": "preload"} {
		if !strings.HasPrefix(program, interpreter) {
			continue
		}
		if slices.Contains(loaded, interpreter) {
			return ""
		}
		return fmt.Sprintf("%s has not loaded the lab's %s", program, hook)
	}
	if _, err := buildinfo.ReadFile(exe); err == nil {
		if slices.Contains(loaded, "go") {
			return ""
		}
		return program + " is a Go program, which reads the clock past the C library: build it with the overlay of lab clocks"
	}
	if static(exe) {
		return program + " is linked statically, so that nothing can be put before its C library"
	}
	if slices.Contains(loaded, "shim") {
		return ""
	}
	if c.kit.shim == "" {
		return c.kit.why
	}
	return program + " has not loaded the lab's shim"
}

// static says whether an executable asks for no dynamic loader.
func static(exe string) bool {
	file, err := elf.Open(exe)
	if err != nil {
		return false
	}
	defer file.Close()
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// group lists the processes of a group.
func group(leader int) []int {
	var members []int
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, process := range processes {
		text, err := os.ReadFile(process + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		fields := strings.Fields(rest) // state, parent, group, …
		if len(fields) < 3 || fields[2] != strconv.Itoa(leader) || fields[0] == "Z" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(process)); err == nil {
			members = append(members, pid)
		}
	}
	return members
}
