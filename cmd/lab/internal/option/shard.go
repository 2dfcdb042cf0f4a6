package option

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/locklab/locklab/cmd/lab/internal/cli"
	"github.com/locklab/locklab/internal/lab"
)

// Shard is the value of --shard; empty: the whole.
type Shard string

// Bind binds --shard; what names the items that are split.
func (s *Shard) Bind(flags *pflag.FlagSet, what string) {
	flags.StringVar((*string)(s), "shard", "", "a part of the "+what+", for one of several machines: `i/n` is the ith of n, and job/n that of a pod; see lab merge")
}

// Parse reads the value.
func (s Shard) Parse() (lab.Shard, error) {
	text := string(s)
	if text == "" {
		return lab.Shard{}, nil
	}
	if of, isJob := strings.CutPrefix(text, "job/"); isJob {
		index, err := strconv.Atoi(os.Getenv(jobIndex))
		if err != nil {
			return lab.Shard{}, cli.Usagef("--shard job/n needs %s, which Kubernetes sets in the pods of an Indexed Job, not %q", jobIndex, os.Getenv(jobIndex))
		}
		text = fmt.Sprintf("%d/%s", index+1, of)
	}
	shard, err := lab.ParseShard(text)
	if err != nil {
		return lab.Shard{}, cli.Usagef("--shard is %v", err)
	}
	return shard, nil
}

// jobIndex is the variable in which Kubernetes tells the pods of an Indexed Job apart, from 0.
const jobIndex = "JOB_COMPLETION_INDEX"

// Check refuses a value that means nothing, or a part of so few items that it is empty.
func (s Shard) Check(items int) error {
	shard, err := s.Parse()
	if err == nil && shard.Index > items {
		err = cli.Nothingf("nothing to run: part %s is empty", shard)
	}
	return err
}
