//go:build !unix

package terminal

import "os"

// columnsOf knows no terminals here; COLUMNS tells their width.
func columnsOf(*os.File) int { return 0 }
