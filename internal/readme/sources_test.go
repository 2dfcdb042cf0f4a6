package readme

import (
	"fmt"
	"strings"
	"testing"

	"github.com/locklab/locklab/internal/sources"
)

// TestSourcesPage holds docs/tables/sources.md against the bibliography.
func TestSourcesPage(t *testing.T) {
	var b strings.Builder
	kind := ""
	for _, r := range sources.All() {
		if r.Kind != kind {
			kind = r.Kind
			fmt.Fprintf(&b, "\n### %ss\n\n", strings.ToUpper(kind[:1])+kind[1:])
		}
		fmt.Fprintf(&b, "- **%s** %s\n", r.ID, entry(r))
	}
	holdPart(t, "../../docs/tables/sources.md", fromSources, b.String())
}

// entry is a reference with all that is known of it.
func entry(r sources.Reference) string {
	parts := []string{r.Title}
	if r.Original != "" {
		parts = append(parts, "《"+r.Original+"》")
	}
	if r.Author != "" {
		parts = append(parts, r.Author)
	}
	if r.Code != "" {
		parts = append(parts, "code at <"+r.Code+">")
	}
	switch {
	case len(r.In) > 0:
		parts = append(parts, "described in "+strings.Join(r.In, ", "))
	case r.Address == "":
		parts = append(parts, "address not known")
	default:
		parts = append(parts, "<"+r.Address+">")
	}
	return strings.Join(parts, "; ")
}
