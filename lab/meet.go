package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/scenarios/live"
	"github.com/locklab/locklab/scenarios/play"
	"github.com/locklab/locklab/worker/protocol"
)

// ClientError says that a foreign client cannot be used: it could not be started, or did not say hello.
type ClientError = live.ClientError

// greeter is a World that runs foreign clients.
type greeter interface {
	Greet(ctx context.Context, subject play.Subject) (protocol.Hello, error)
}

// Meet starts a foreign client once, in a setting, and has it say hello. What is wrong with the program is then one error, a *ClientError,
// instead of one in every cell.
func Meet(ctx context.Context, setting Setting, subject play.Subject) (_ play.Subject, err error) {
	world, err := setting.open(ctx, "")
	if err != nil {
		return subject, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	host, ok := world.(greeter)
	if !ok {
		return subject, fmt.Errorf("the world %s runs no foreign client", setting.World)
	}
	_, err = host.Greet(ctx, subject)
	return subject, err
}
