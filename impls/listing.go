package impls

import "embed"

// Sources are the files of this package, for those who show a lock with its code.
//
//go:embed *.go
var Sources embed.FS
