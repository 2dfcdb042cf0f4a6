package deploytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// schema is a JSON schema, as far as goreleaser's goes. Decoding is strict, so that nothing is passed over that a later one may say.
type schema struct {
	Schema      string             `json:"$schema"`
	ID          string             `json:"$id"`
	Comment     string             `json:"$comment"`
	Ref         string             `json:"$ref"`
	Defs        map[string]*schema `json:"$defs"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Default     any                `json:"default"`
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Enum        []any              `json:"enum"`
	OneOf       []*schema          `json:"oneOf"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Additional  *schema            `json:"additionalProperties"` // nil: anything
	Required    []string           `json:"required"`

	never bool // the schema is "false"
}

func (s *schema) UnmarshalJSON(data []byte) error {
	if string(data) == "true" || string(data) == "false" {
		s.never = string(data) == "false"
		return nil
	}
	type plain schema
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*plain)(s))
}

func readSchema(t *testing.T, name string) *schema {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	s := new(schema)
	require.NoError(t, json.Unmarshal(data, s))
	return s
}

// problems says where a value is not what the schema allows; defs are those of the whole schema.
func (s *schema) problems(defs map[string]*schema, at string, value any) []string {
	if s.never {
		return []string{at + ": there is no such field"}
	}
	if s.Ref != "" {
		return defs[strings.TrimPrefix(s.Ref, "#/$defs/")].problems(defs, at, value)
	}
	if len(s.OneOf) > 0 {
		fits := func(one *schema) bool { return len(one.problems(defs, at, value)) == 0 }
		if !slices.ContainsFunc(s.OneOf, fits) {
			return []string{fmt.Sprintf("%s: %v is none of what it may be", at, value)}
		}
		return nil
	}
	if kind := kindOf(value); s.Type != "" && s.Type != kind && (s.Type != "number" || kind != "integer") {
		return []string{fmt.Sprintf("%s: is a %s, not a %s", at, kind, s.Type)}
	}
	same := func(one any) bool { return fmt.Sprint(one) == fmt.Sprint(value) } // YAML's 2 is an int, JSON's is not
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, same) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, value, s.Enum)}
	}
	var problems []string
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if s.Items != nil {
				problems = append(problems, s.Items.problems(defs, fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := value[name]; !ok {
				problems = append(problems, at+": has no "+name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			field, ok := s.Properties[name]
			if !ok {
				field = s.Additional
			}
			if field != nil {
				problems = append(problems, field.problems(defs, at+"."+name, value[name])...)
			}
		}
	}
	return problems
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int:
		return "integer"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
