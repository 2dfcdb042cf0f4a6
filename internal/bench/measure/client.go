package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locklab/locklab/impls"
	"github.com/locklab/locklab/internal/waiting"
	"github.com/locklab/locklab/internal/worker"
)

// clientJob is what a client process is to do.
type clientJob struct {
	Client int           `json:"client"`
	Seed   int64         `json:"seed"`
	Store  string        `json:"store"` // the address of the server with the sets
	Sets   []set         `json:"sets"`
	Wait   string        `json:"wait"`
	Lease  time.Duration `json:"lease_ns"`
	Think  time.Duration `json:"think_ns"`
	Rest   time.Duration `json:"rest_ns"`
}

// clientResult is what it did, in the order of the job's sets.
type clientResult struct {
	Sets []setResult `json:"sets"`
}

type setResult struct {
	Acked   []string `json:"acked"`
	Refused int      `json:"refused"`
	Failed  int      `json:"failed"`
}

// ClientMain is the main function of a client process. It reads a job, connects and says so, begins at the next line, ends when its input does,
// and then writes what it did.
func ClientMain(ctx context.Context, stdin io.Reader, stdout io.Writer, specs []impls.Spec) (err error) {
	runtime.GOMAXPROCS(1) // like the clients of scenarios
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var job clientJob
	if err := in.Decode(&job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	updaters, done, err := newUpdaters(ctx, job, specs)
	defer func() { err = errors.Join(err, done()) }()
	if err != nil {
		return err
	}
	if err := out.Encode(struct{}{}); err != nil {
		return err
	}
	if err := in.Decode(&struct{}{}); err != nil {
		return fmt.Errorf("waiting for the beginning: %w", err)
	}
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		over.Store(true)
	}()
	together(len(updaters), func(i int) error {
		for !over.Load() {
			updaters[i].update(ctx, over.Load)
			time.Sleep(updaters[i].rest())
		}
		return nil
	})
	var result clientResult
	for _, u := range updaters {
		result.Sets = append(result.Sets, u.result)
	}
	return out.Encode(result)
}

// newUpdaters connects to the servers, for each set anew. done closes everything, also after an error.
func newUpdaters(ctx context.Context, job clientJob, specs []impls.Spec) (_ []*updater, done func() error, _ error) {
	var closing []func() error
	done = func() error {
		var errs []error
		for _, f := range closing {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	store, err := worker.Dial(ctx, job.Store)
	if err != nil {
		return nil, done, err
	}
	closing = append(closing, store.Close)
	var updaters []*updater
	for i, s := range job.Sets {
		spec, found := impls.Lookup(specs, s.Lock)
		if !found {
			return nil, done, fmt.Errorf("unknown lock %q", s.Lock)
		}
		client, err := worker.Dial(ctx, s.Servers...)
		if err != nil {
			return nil, done, err
		}
		lock, err := client.Open(spec, impls.Options{Key: s.LockKey, Lease: job.Lease}, worker.Wrap{})
		if err != nil {
			return nil, done, errors.Join(err, client.Close())
		}
		wait := job.Wait
		if _, blocks := lock.Lock.(impls.Blocking); blocks {
			wait = "" // it has a queue of its own
		}
		way, err := wayOf(wait, lock.Lock, job.Client)
		if err != nil {
			lock.Close()
			return nil, done, errors.Join(err, client.Close())
		}
		closing = append(closing, func() error {
			lock.Close()
			return client.Close()
		})
		updaters = append(updaters, &updater{
			job: job, set: s, store: store.Server(), lock: lock, way: way,
			random: rand.New(rand.NewPCG(uint64(job.Seed), uint64(job.Client*len(job.Sets)+i))),
		})
	}
	return updaters, done, nil
}

// updater appends to one set. One goroutine uses it.
type updater struct {
	job    clientJob
	set    set
	store  impls.Server
	lock   *worker.Lock
	way    waiting.Way
	random *rand.Rand
	number int
	result setResult
}

// rest is at random, and on the average that of the job.
func (u *updater) rest() time.Duration {
	return time.Duration(u.random.Float64() * 2 * float64(u.job.Rest))
}

// acquireFor bounds a wait, so that a client notices that it has to stop.
const acquireFor = time.Second

// update adds one member under the lock, unless it has to stop before it has the lock.
func (u *updater) update(ctx context.Context, over func() bool) {
	held := false
	for !held && !over() {
		var err error
		if held, err = u.lock.Acquire(ctx, acquireFor, u.way); err != nil {
			u.result.Failed++
			return
		}
	}
	if !held {
		return
	}
	u.number++
	member := fmt.Sprintf("%d.%d", u.job.Client, u.number)
	switch done, err := u.append(ctx, member); {
	case err != nil:
		u.result.Failed++
	case done:
		u.result.Acked = append(u.result.Acked, member)
	default:
		u.result.Refused++
	}
	// Whether the lock was still held makes no difference to what was acknowledged.
	_, _ = u.lock.Release(ctx)
}

// append reads the set, thinks, and writes the set with one member more. The client does not ask the lock again before it writes.
func (u *updater) append(ctx context.Context, member string) (bool, error) {
	var fence int64
	if u.set.Guarded {
		var err error
		if fence, err = u.fence(ctx); err != nil {
			return false, err
		}
		if shown, err := u.shown(ctx, showFence, fence); !shown {
			return false, err
		}
	}
	members, err := membersOf(u.store.Do(ctx, "GET", u.set.Key))
	if err != nil {
		return false, err
	}
	time.Sleep(u.job.Think)
	value := strings.Join(append(members, member), " ")
	if u.set.Guarded {
		return u.shown(ctx, writeFenced, fence, value)
	}
	_, err = u.store.Do(ctx, "SET", u.set.Key, value)
	return err == nil, err
}

// fence is the lock's own, or else a number that the store counts up: whoever shows it before reading is told from everybody else, whatever the
// lock believes.
func (u *updater) fence(ctx context.Context) (int64, error) {
	if fencer, ok := u.lock.Lock.(impls.Fencer); ok {
		return fencer.Fence(), nil
	}
	return integer(u.store.Do(ctx, "INCR", u.set.Key+":grants"))
}

// The store remembers the greatest fence, and refuses smaller ones: 0 instead of 1.
const (
	showFence = `if tonumber(redis.call("GET", KEYS[2]) or 0) > tonumber(ARGV[1]) then
	return 0
end
redis.call("SET", KEYS[2], ARGV[1])
return 1`

	writeFenced = `if tonumber(redis.call("GET", KEYS[2]) or 0) > tonumber(ARGV[1]) then
	return 0
end
redis.call("SET", KEYS[1], ARGV[2])
return 1`
)

func (u *updater) shown(ctx context.Context, source string, fence int64, more ...any) (bool, error) {
	args := append([]any{strconv.FormatInt(fence, 10)}, more...)
	done, err := integer(u.store.Eval(ctx, &impls.Script{Source: source}, []string{u.set.Key, u.set.Key + ":fence"}, args...))
	return done == 1, err
}

// membersOf reads a set.
func membersOf(reply any, err error) ([]string, error) {
	if err != nil || reply == nil {
		return nil, err
	}
	return strings.Fields(fmt.Sprint(reply)), nil
}
