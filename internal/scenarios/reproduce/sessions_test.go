//go:build linux || darwin

package reproduce_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locklab/locklab/checker"
	"github.com/locklab/locklab/faults"
	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/lab"
	"github.com/locklab/locklab/internal/scenarios/reproduce"
	"github.com/locklab/locklab/internal/sim/search"
)

// onZooKeeper finds counterexamples of locks on a ZooKeeper.
func onZooKeeper() ([]reproduce.Counterexample, error) {
	var all []reproduce.Counterexample
	for _, race := range []struct {
		lock    string
		fault   faults.Kind
		anomaly checker.Name
	}{
		{"zookeeper", faults.Pause, checker.DoubleHolder},
		{"zookeeper", faults.ReplyLost, checker.StuckLock},
		{"zookeeper", faults.LateRequest, checker.StuckLock},
		{"zookeeper-herd", faults.Pause, checker.WrongfulDelete},
		{"curator-mutex", faults.Pause, checker.StaleWrite},
		{"go-zookeeper", faults.ReplyLost, checker.GhostLock},
		{"zookeeper-protected", faults.Pause, checker.LostUpdate},
		{"zookeeper-fenced", faults.LateRequest, checker.StaleWrite},
		{"zookeeper", faults.Partition, checker.DoubleHolder},
		{"zookeeper", faults.Partition, checker.StuckLock},
		{"zookeeper-herd", faults.Partition, checker.WrongfulDelete},
		{"curator-mutex", faults.Partition, checker.LostUpdate},
		{"zookeeper-protected", faults.Partition, checker.GhostLock},
	} {
		lock, _ := impls.Find(race.lock)
		result, err := search.Search(context.Background(), search.Config{
			Lock: lock, Clients: 2, Rounds: 1, Budget: search.Budget{race.fault: 1}, MostFaults: 1, Only: []checker.Name{race.anomaly},
		})
		if err != nil || result.Found == nil {
			return nil, fmt.Errorf("%s, %s by %s: nothing is found, %w", race.lock, race.anomaly, race.fault, err)
		}
		all = append(all, reproduce.Counterexample{Lock: lock, Faults: string(race.fault), Trace: result.Found})
	}
	return all, nil
}

// Counterexamples of locks on a ZooKeeper show their anomalies when the model plays their scripts.
func TestOnZooKeeper(t *testing.T) {
	all, err := onZooKeeper()
	require.NoError(t, err)
	playAll(t, lab.Setting{World: lab.Sim}, all)
}
