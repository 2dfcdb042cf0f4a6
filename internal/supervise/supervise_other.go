//go:build !unix

package supervise

import (
	"errors"
	"os"
)

// Child says that this process is no child: there are none here.
func Child() (signals <-chan os.Signal, is bool, err error) { return nil, false, nil }

// Run returns an error: files cannot be handed to a child here.
func Run() (End, error) { return End{}, errors.ErrUnsupported }
