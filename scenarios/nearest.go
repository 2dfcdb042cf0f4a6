package scenarios

import (
	"fmt"

	"github.com/locklab/locklab/internal/spelling"
)

// didYouMean is the end of an error about name; empty if no candidate is near.
func didYouMean(name string, candidates []string) string {
	if meant := spelling.Nearest(name, candidates); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return ""
}
