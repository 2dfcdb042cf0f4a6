package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/worker"
)

// window is what clients did with a lock for a while. A program's process tells it as JSON.
type window struct {
	Times    []time.Duration `json:"times_ns"` // of acquire and release alone, of acquire together
	Checks   []time.Duration `json:"checks_ns"`
	Took     time.Duration   `json:"took_ns"`
	Commands int64           `json:"commands"` // none of a lock that connects to its service by itself
	Failed   int             `json:"failed"`
}

// windowJob says what clients are to do. A program's process gets it as JSON.
type windowJob struct {
	Lock    string        `json:"lock"`
	Servers []string      `json:"servers"`
	Key     string        `json:"key"`
	Clients int           `json:"clients"`
	For     time.Duration `json:"for_ns"`
	Wait    string        `json:"wait"`
}

// window has n clients acquire and release a lock for a while: in this process or, if the lock is a program's, in one of its.
func (p *Place) window(ctx context.Context, spec impls.Spec, n int, plan LocksPlan) (window, error) {
	site, err := p.siteOf(ctx, spec, "lock")
	if err != nil {
		return window{}, err
	}
	job := windowJob{Lock: spec.Name, Servers: site.addrs, Key: site.key, Clients: n, For: plan.For, Wait: plan.Wait}
	if program, elsewhere := plan.Programs[spec.Name]; elsewhere {
		return p.windowOf(ctx, program, job)
	}
	return job.measure(ctx, spec)
}

// windowOf has a process of a program measure.
func (p *Place) windowOf(ctx context.Context, program string, job windowJob) (out window, err error) {
	m, err := startMember(p.guard, programArgv(program, asWindow))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	if err = m.send(job); err == nil {
		err = m.hear(ctx, job.For+memberPatience, &out)
	}
	if err != nil { // a program that ends at once may do so before it is sent the job
		err = fmt.Errorf("measuring %s by %q: %w", job.Lock, program, err)
	}
	return out, err
}

// windowMain is the main function of such a process.
func windowMain(ctx context.Context, stdin io.Reader, stdout io.Writer, specs []impls.Spec) error {
	var job windowJob
	if err := json.NewDecoder(stdin).Decode(&job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	spec, found := impls.Lookup(specs, job.Lock)
	if !found {
		return fmt.Errorf("unknown lock %q", job.Lock)
	}
	out, err := job.measure(ctx, spec)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(out)
}

// checkEvery: one in so many holds is checked, out of the measured time.
const checkEvery = 16

// measure has the job's clients acquire and release a lock.
func (j windowJob) measure(ctx context.Context, spec impls.Spec) (_ window, err error) {
	clients, err := dial(ctx, j.Clients, j.Servers)
	defer func() { err = errors.Join(err, hangUp(clients)) }()
	if err != nil {
		return window{}, err
	}
	var counter counter
	users := make([]*user, j.Clients)
	for i, client := range clients {
		lock, err := client.Open(spec, impls.Options{Key: j.Key, Lease: lease}, counter.wrap())
		if err != nil {
			return window{}, err
		}
		defer lock.Close()
		users[i] = &user{lock: lock, counter: &counter, number: i, alone: j.Clients == 1}
	}
	// The first acquire connects, and has the server learn the scripts.
	if err := users[0].use(ctx, time.Now(), ""); err != nil {
		return window{}, err
	}
	users[0].window, users[0].checked, users[0].checking = window{}, 0, 0
	counter.sent.Store(0)
	began := time.Now()
	errs := together(j.Clients, func(i int) error {
		over := began.Add(j.For)
		for first := true; first || time.Now().Before(over); first = false {
			if err := users[i].use(ctx, over, j.Wait); err != nil {
				return err
			}
		}
		return nil
	})
	out := window{Took: time.Since(began), Commands: counter.sent.Load()}
	for _, u := range users {
		out.Times = append(out.Times, u.Times...)
		out.Checks = append(out.Checks, u.Checks...)
		out.Failed += u.Failed
		out.Took -= u.checked
		out.Commands -= u.checking
	}
	return out, errors.Join(errs...)
}

// user uses a lock again and again. One goroutine uses it.
type user struct {
	lock     *worker.Lock
	counter  *counter // of all users
	number   int
	alone    bool
	holds    int
	checked  time.Duration // spent on checks
	checking int64         // commands of checks
	window
}

// use acquires the lock by the time that over is, and releases it.
func (u *user) use(ctx context.Context, over time.Time, wait string) error {
	if u.alone {
		wait = "" // nobody waits
	}
	way, err := wayOf(wait, u.lock.Lock, u.number)
	if err != nil {
		return err
	}
	began := time.Now()
	held, err := u.lock.Acquire(ctx, max(0, over.Sub(began)), way)
	waited := time.Since(began)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		u.Failed++
		return nil
	}
	if !held {
		return nil // its time is up
	}
	u.check(ctx)
	releasing := time.Now()
	released, err := u.lock.Release(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || !released {
		u.Failed++
	}
	if u.alone {
		waited += time.Since(releasing)
	}
	u.Times = append(u.Times, waited)
	return nil
}

// check asks now and then whether the lock is still held, if one client uses it alone.
func (u *user) check(ctx context.Context) {
	checker, ok := u.lock.Lock.(impls.Checker)
	if u.holds++; !ok || !u.alone || u.holds%checkEvery != 0 {
		return
	}
	sent, began := u.counter.sent.Load(), time.Now()
	held, err := checker.Held(ctx)
	took := time.Since(began)
	u.checked += took
	u.checking += u.counter.sent.Load() - sent // nobody else uses the counter meanwhile
	if err == nil && held {
		u.Checks = append(u.Checks, took)
	}
}
