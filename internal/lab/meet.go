package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/internal/scenarios/live"
	"github.com/locklab/locklab/internal/scenarios/play"
	"github.com/locklab/locklab/scenarios"
)

// ClientError says that a foreign client cannot be used: it could not be started, or did not say hello.
type ClientError = live.ClientError

// greeter is a World that runs foreign clients.
type greeter interface {
	Greet(ctx context.Context, subject play.Subject, scripts ...*scenarios.Script) (play.Subject, error)
}

// Meet starts a foreign client once, in a setting, has it say hello, and completes its subject by that: name, promises, traits. What is wrong
// with the program is then one error, a *ClientError, instead of one in every cell. The subject has Argv and, if it is to be compared
// with a lock, Like and its Spec. The scripts are those that it will play; none: any may be.
func Meet(ctx context.Context, setting Setting, subject play.Subject, scripts ...*scenarios.Script) (_ play.Subject, err error) {
	world, err := setting.open(ctx, "")
	if err != nil {
		return subject, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	host, ok := world.(greeter)
	if !ok {
		return subject, fmt.Errorf("the world %s runs no foreign client", setting.World)
	}
	if subject, err = host.Greet(ctx, subject, scripts...); err != nil {
		return subject, err
	}
	if why := CheckName(subject.Name); why != nil {
		return subject, &ClientError{Why: fmt.Sprintf("name in hello is %q: %v", subject.Name, why)}
	}
	return subject, nil
}
