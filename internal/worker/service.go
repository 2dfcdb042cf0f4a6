package worker

import (
	"fmt"
	"strings"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker/protocol"
)

// checkService says why a lock does not run on the service at an address, if it does not. A lock whose card names no need is its author's affair.
func checkService(spec impls.Spec, addr string) error {
	if spec.Needs == "" || spec.Needs == impls.NoServer {
		return nil
	}
	needed := map[impls.Need]string{
		impls.OneZooKeeper: protocol.ZooKeeperScheme, impls.OneEtcd: protocol.EtcdScheme, impls.OnePostgres: protocol.PostgresScheme,
	}[spec.Needs]
	for _, scheme := range []string{protocol.ZooKeeperScheme, protocol.EtcdScheme, protocol.PostgresScheme, ""} {
		if strings.HasPrefix(addr, scheme) {
			if scheme != needed {
				return fmt.Errorf("lock %s needs %s, and %s is another service", spec.Name, spec.Needs, addr)
			}
			break
		}
	}
	return nil
}
