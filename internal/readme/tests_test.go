package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	namedTest   = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z]+)(…?)")
	definedTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// TestNamedTestsExist: a page that names a test as evidence names one that there is. `TestKilledLab…` stands for those that begin so.
func TestNamedTestsExist(t *testing.T) {
	defined := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range definedTest.FindAllSubmatch(text, -1) {
			defined[string(found[1])] = true
		}
		return err
	}))
	begins := func(prefix string) bool {
		for name := range defined {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	named := 0
	for _, page := range append(docPages(t), "../../ARCHITECTURE.md", "../../CONTRIBUTING.md") {
		for _, found := range namedTest.FindAllStringSubmatch(pageText(t, page), -1) {
			named++
			assert.True(t, defined[found[1]] || found[2] != "" && begins(found[1]), "%s names %s", page, found[1])
		}
	}
	assert.Greater(t, named, 50)
}
