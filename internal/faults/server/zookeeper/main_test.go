package zookeeper

import (
	"testing"

	"github.com/locklab/locklab/internal/faults/server/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m, nil) }
