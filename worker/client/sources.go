package client

import "embed"

// Sources is the file of this package that is copied into another module.
//
//go:embed client.go
var Sources embed.FS
