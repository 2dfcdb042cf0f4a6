package client

import "embed"

// Sources are the files of this package that are copied into another module.
//
//go:embed client.go handle.go serve.go
var Sources embed.FS
