package commands

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRefusal(t *testing.T) {
	for command, why := range map[string]string{
		"shutdown nosave":       "it ends or changes the server",
		"DEBUG SEGFAULT":        "it ends or changes the server",
		"REPLICAOF 127.0.0.1 1": "it ends or changes the server",
		"FlushAll":              "it removes keys that are not the client's",
		"FLUSHDB ASYNC":         "it removes keys that are not the client's",
		"MONITOR":               "it reads what others send",
		"CONFIG SET dir /tmp":   "it changes the server's configuration",
		"CONFIG SET notify-keyspace-events KEA a b": "it changes the server's configuration",
		"CONFIG":                                "it changes the server's configuration",
		"ACL SETUSER default off":               "it changes who may use the server",
		"client kill type normal":               "it ends or stops other clients",
		"CLIENT PAUSE 100000":                   "it ends or stops other clients",
		"FUNCTION FLUSH":                        "it removes or ends functions of others",
		"SCRIPT FLUSH":                          "it removes or ends scripts of others",
		"CLUSTER RESET":                         "it changes the cluster",
		"SLOWLOG RESET":                         "it changes the server's statistics",
		"CONFIG GET maxmemory":                  "",
		"config set notify-keyspace-events KEA": "",
		"ACL WHOAMI":                            "",
		"CLIENT SETNAME me":                     "",
		"CLIENT SETINFO LIB-NAME x":             "",
		"CLIENT":                                "",
		"FUNCTION LOAD x":                       "",
		"SCRIPT LOAD x":                         "",
		"CLUSTER SLOTS":                         "",
		"SET flushall shutdown":                 "",
		"EVAL x 0":                              "",
		"an-unknown-one":                        "",
	} {
		assert.Equal(t, why, NewTable().Refusal(bytes.Fields([]byte(command))), command)
		if why != "" {
			assert.Equal(t, why, NewTable().NewScope(func([]byte) bool { return true }).Refusal(bytes.Fields([]byte(command))), "with the same reason where others use the server")
		}
	}
}
