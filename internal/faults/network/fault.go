package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/locklab/locklab/faults"
)

// effect causes one kind of fault, and ends it.
type effect interface {
	// inject causes the fault and returns what shows that it took effect. i.probe is nil where there is no canary.
	inject(ctx context.Context, i *Injected) (evidence string, err error)
	// heal ends it and returns what shows that it was in effect until then, and no longer is.
	heal(ctx context.Context, i *Injected) (evidence string, err error)
	// drop ends it without delivering anything, before the link is closed.
	drop(ctx context.Context, l *Link) error
}

// noCanary qualifies evidence that comes from toxiproxy's API alone.
const noCanary = " (as toxiproxy reports: the link has no canary)"

// Injected is a fault that has taken effect.
type Injected struct {
	link     *Link
	fault    faults.LinkFault
	effect   effect
	probe    *probe
	ping     ping // sent after the fault was injected, where the fault needs one
	evidence string
}

// Inject causes the fault and returns once it has been observed to take effect. A link has one fault at a time. After an error the
// link is unusable, unless the error is that it has a fault already.
func (l *Link) Inject(ctx context.Context, f faults.LinkFault) (*Injected, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unusable != nil {
		return nil, fmt.Errorf("%s on link %s: %w", f.Kind, l.name, l.unusable)
	}
	if l.injected != nil {
		return nil, fmt.Errorf("%s on link %s: it has a fault already: %s", f.Kind, l.name, l.injected.fault)
	}
	effect, err := effectOf(f)
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", l.name, err)
	}
	i := &Injected{link: l, fault: f, effect: effect}
	if err := i.inject(ctx); err != nil {
		l.spoil(i)
		return nil, fmt.Errorf("%s on link %s: %w", f.Kind, l.name, err)
	}
	l.injected = i
	return i, nil
}

func (i *Injected) inject(ctx context.Context) (err error) {
	if i.link.canary != nil {
		if i.probe, err = newProbe(ctx, i.link); err != nil {
			return fmt.Errorf("the link did not work before: %w", err)
		}
	}
	i.evidence, err = i.effect.inject(ctx, i)
	return err
}

// spoil ends a fault that failed half-way.
func (l *Link) spoil(i *Injected) {
	l.unusable = errors.New("an earlier fault failed half-way")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = i.effect.drop(ctx, l) // some of its toxics may be absent
	i.probe.close()
}

// Evidence says, for people, how the fault was observed to take effect.
func (i *Injected) Evidence() string { return i.evidence }

// Recover ends the fault and says, for people, how that was observed. An error means that the fault was not in effect all the time, or
// that the link does not work again.
func (i *Injected) Recover(ctx context.Context) (evidence string, err error) {
	l := i.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.injected != i {
		return "", fmt.Errorf("recover from %s on link %s: it has ended already", i.fault.Kind, l.name)
	}
	l.injected = nil
	evidence, err = i.effect.heal(ctx, i)
	if err != nil {
		l.spoil(i)
		return "", fmt.Errorf("recover from %s on link %s: %w", i.fault.Kind, l.name, err)
	}
	i.probe.close()
	return evidence, nil
}
