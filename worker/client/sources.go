package client

import _ "embed" // to copy the package into other modules

//go:embed client.go
var clientSource string

//go:embed operation.go
var operationSource string

//go:embed wire.go
var wireSource string

// Sources are the files of this package by name, to be copied into another module.
func Sources() map[string]string {
	return map[string]string{"client.go": clientSource, "operation.go": operationSource, "wire.go": wireSource}
}
