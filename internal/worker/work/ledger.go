package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/history"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/answers"
)

// enter appends an entry to the ledger: "4 after 3 by C1", where 3 is the number of the last entry.
func (t Task) enter(ctx context.Context) history.Answer {
	last, err := lastEntry(t.Resource.Do(ctx, "LINDEX", t.Key, -1))
	if err != nil {
		return answers.Settled(false, err)
	}
	entry := fmt.Sprintf("%d after %d by %s", last+1, last, t.Client)
	done, err := t.oneByOne(ctx, []string{t.Key}, impls.Command{"RPUSH", t.Key, entry})
	return wrote(last, last+1, done, err)
}

// lastEntry is the number of the last entry; zero if there is none.
func lastEntry(reply any, err error) (number int64, _ error) {
	if err != nil || reply == nil {
		return 0, err
	}
	entry, ok := reply.(string)
	if !ok {
		return 0, errors.New("the ledger's last entry is no text")
	}
	if _, err := fmt.Sscanf(entry, "%d after ", &number); err != nil {
		return 0, fmt.Errorf("the ledger's last entry, %q, begins with no number: %w", entry, err)
	}
	return number, nil
}
