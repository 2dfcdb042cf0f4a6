package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
)

var update = flag.Bool("update", false, "rewrite golden files, for review")

// TestEventsOfJSON holds the shape of what --json writes: which events come in which order, with which fields, and the values that
// programs decide by. Wording and times are left out.
func TestEventsOfJSON(t *testing.T) {
	var out, stderr bytes.Buffer
	args := []string{
		"run", "pause-past-lease", "renewing-holder-killed", "flash-sale-two-instances", "--lock", "setpx-del,watchdog",
		"--world", "sim", "--parallel", "1", "--seed", "1", "--json", "--out", filepath.Join(t.TempDir(), "run"),
	}
	require.Equal(t, cli.CodeExpected, carryOut(t.Context(), args, strings.NewReader(""), &out, &stderr), stderr.String())
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		var event map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		got.WriteString("--\n")
		var fields []string
		flatten("", event, &fields)
		got.WriteString(strings.Join(slices.Compact(fields), "\n") + "\n")
	}
	golden := filepath.Join("testdata", "events.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

// flatten lists the fields of a JSON value by their paths, sorted, with the values that are the same in every run.
func flatten(path string, value any, fields *[]string) {
	switch v := value.(type) {
	case map[string]any:
		var keys []string
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			flatten(strings.TrimPrefix(path+"."+key, "."), v[key], fields)
		}
	case []any:
		for _, element := range v {
			flatten(path+"[]", element, fields)
		}
	default:
		last := path[strings.LastIndexByte(path, '.')+1:]
		switch last {
		case "event", "v", "lock", "scenario", "round", "done", "total", "status", "kind", "by", "name", "world", "seed", "finished", "clients[]",
			"events[]", "workload", "at_ns", "cells", "safe", "broken", "not_applicable", "unknown", "failed", "surprises":
			*fields = append(*fields, fmt.Sprintf("%s = %v", path, v))
		default:
			*fields = append(*fields, path)
		}
	}
}
