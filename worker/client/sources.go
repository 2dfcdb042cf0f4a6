package client

import "embed"

// Sources are the files of this package that are copied into another module.
//
//go:embed client.go time_unix.go time_other.go
var Sources embed.FS
