package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/locklab/locklab/internal/lab"
)

// bindShard binds --shard; what names the items that are split.
func bindShard(flags *pflag.FlagSet, shard *string, what string) {
	flags.StringVar(shard, "shard", "", "a part of the "+what+", for one of several machines: `i/n` is the ith of n, and job/n that of a pod; see lab merge")
}

// parseShard reads the value of --shard; without one it is the whole.
func parseShard(text string) (lab.Shard, error) {
	if text == "" {
		return lab.Shard{}, nil
	}
	if of, isJob := strings.CutPrefix(text, "job/"); isJob {
		index, err := strconv.Atoi(os.Getenv(jobIndex))
		if err != nil {
			return lab.Shard{}, usagef("--shard job/n needs %s, which Kubernetes sets in the pods of an Indexed Job, not %q", jobIndex, os.Getenv(jobIndex))
		}
		text = fmt.Sprintf("%d/%s", index+1, of)
	}
	shard, err := lab.ParseShard(text)
	if err != nil {
		return lab.Shard{}, usagef("--shard is %v", err)
	}
	return shard, nil
}

// jobIndex is the variable in which Kubernetes tells the pods of an Indexed Job apart, from 0.
const jobIndex = "JOB_COMPLETION_INDEX"

// checkShard refuses a value of --shard that means nothing, or a part of so few items that it is empty.
func checkShard(text string, items int) error {
	shard, err := parseShard(text)
	if err == nil && shard.Index > items {
		err = &nothingError{fmt.Sprintf("nothing to run: part %s is empty", shard)}
	}
	return err
}
