/* Lock Lab: shows a program the clock that the lab has set (see internal/faults/clocks). It is found through LD_PRELOAD, and stands before the C library's
 * functions that read a clock, sleep, or wait until a time. Python and Node have hooks of their own: what waits inside them would not fit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct page {
  _Atomic uint64_t generation;
  int64_t offset;
  double rate;
  int64_t base;
  _Atomic uint64_t end;
};

/* What the clocks show: at which true times they were set, and what they showed then. Two, of which one is being written. */
struct state {
  uint64_t generation;
  double rate;
  int64_t wall, wall_shown, mono, mono_shown;
};

static struct page *page; /* NULL: this program is left alone */
static struct state states[2] = {{.rate = 1}, {.rate = 1}};
static _Atomic int current;
static atomic_flag writing = ATOMIC_FLAG_INIT;

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
#if defined(__x86_64__)
  if (!strncmp(name, "pthread_cond_", 13)) { /* the oldest version is another function */
    void *newer = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    if (newer) return newer;
  }
#endif
  return dlsym(RTLD_NEXT, name);
}

static int64_t ns(const struct timespec *t) { return t->tv_sec * 1000000000LL + t->tv_nsec; }

static struct timespec spec(int64_t t) {
  struct timespec s = {t / 1000000000LL, t % 1000000000LL};
  if (s.tv_nsec < 0) s.tv_sec--, s.tv_nsec += 1000000000L;
  return s;
}

static int64_t truly(clockid_t clock) {
  static __typeof__(&clock_gettime) gettime;
  if (!gettime) gettime = REAL(clock_gettime);
  struct timespec t;
  gettime(clock, &t);
  return ns(&t);
}

/* now is what the lab has set. Whoever comes while another thread, or the code that a signal has interrupted, takes in a setting sees the one before. */
static struct state now(void) {
  struct state s = states[atomic_load(&current)];
  if (!page || atomic_load(&page->generation) == s.generation || atomic_flag_test_and_set(&writing)) return s;
  s = states[atomic_load(&current)];
  struct page set;
  do {
    set.generation = atomic_load(&page->generation);
    set.offset = page->offset, set.rate = page->rate, set.base = page->base;
    set.end = atomic_load(&page->end);
  } while (set.generation != set.end);
  if (set.generation != s.generation) {
    int64_t at = truly(CLOCK_MONOTONIC) - (truly(CLOCK_REALTIME) - set.base);
    s.mono_shown += (int64_t)((at - s.mono) * s.rate);
    s.mono = at;
    s.wall = set.base, s.wall_shown = set.base + set.offset, s.rate = set.rate, s.generation = set.generation;
    states[!atomic_load(&current)] = s;
    atomic_store(&current, !atomic_load(&current));
  }
  atomic_flag_clear(&writing);
  return s;
}

static int steps(clockid_t c) { return c == CLOCK_REALTIME || c == CLOCK_REALTIME_COARSE; }
static int runs(clockid_t c) {
  return steps(c) || c == CLOCK_MONOTONIC || c == CLOCK_MONOTONIC_RAW || c == CLOCK_MONOTONIC_COARSE || c == CLOCK_BOOTTIME;
}

static int64_t passed(int64_t since, double rate) { return rate == 1 ? since : (int64_t)(since * rate); }

static int64_t shown(clockid_t clock) {
  struct state s = now();
  int64_t t = truly(clock); // after it, or a setting might seem to come from the future
  if (!s.generation || !runs(clock)) return t;
  if (steps(clock)) return s.wall_shown + passed(t - s.wall, s.rate);
  return s.mono_shown + passed(t - s.mono, s.rate);
}

/* until is the true time at which a clock shows t. */
static struct timespec until(clockid_t clock, const struct timespec *t) {
  return spec(truly(clock) + (int64_t)((ns(t) - shown(clock)) / now().rate));
}

/* which clock a condition goes by is hidden in it: the time is near what that clock shows. */
static clockid_t by(const struct timespec *t) {
  return llabs(ns(t) - shown(CLOCK_REALTIME)) < llabs(ns(t) - shown(CLOCK_MONOTONIC)) ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  int err = REAL(clock_gettime)(clock, t);
  if (!err && page && runs(clock)) *t = spec(shown(clock));
  return err;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  int err = REAL(gettimeofday)(t, zone);
  if (!err && page) {
    struct timespec s = spec(shown(CLOCK_REALTIME));
    t->tv_sec = s.tv_sec, t->tv_usec = s.tv_nsec / 1000;
  }
  return err;
}

time_t time(time_t *t) {
  time_t s = spec(shown(CLOCK_REALTIME)).tv_sec;
  if (t) *t = s;
  return s;
}

int timespec_get(struct timespec *t, int base) {
  if (base != TIME_UTC) return REAL(timespec_get)(t, base);
  *t = spec(shown(CLOCK_REALTIME));
  return base;
}

int nanosleep(const struct timespec *t, struct timespec *left) {
  double rate = now().rate;
  if (rate == 1 || ns(t) < 0) return REAL(nanosleep)(t, left);
  struct timespec s = spec((int64_t)(ns(t) / rate));
  int err = REAL(nanosleep)(&s, left);
  if (err && left) *left = spec((int64_t)(ns(left) * rate));
  return err;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
  if (!page || !runs(clock)) return REAL(clock_nanosleep)(clock, flags, t, left);
  if (flags & TIMER_ABSTIME) {
    struct timespec s = until(clock, t);
    return REAL(clock_nanosleep)(clock, flags, &s, left);
  }
  return nanosleep(t, left) ? errno : 0;
}

int usleep(useconds_t us) {
  struct timespec t = spec(us * 1000LL);
  return nanosleep(&t, NULL);
}

unsigned sleep(unsigned seconds) {
  struct timespec t = {seconds, 0}, left = {0, 0};
  return nanosleep(&t, &left) ? (unsigned)(left.tv_sec + (left.tv_nsec > 0)) : 0;
}

static int ms(int timeout) {
  double rate = now().rate;
  return timeout <= 0 || rate == 1 ? timeout : (int)(timeout / rate) + 1;
}

int poll(struct pollfd *fds, nfds_t n, int timeout) { return REAL(poll)(fds, n, ms(timeout)); }

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout) { return REAL(epoll_wait)(fd, events, n, ms(timeout)); }

int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, struct timeval *restrict t) {
  double rate = now().rate;
  if (t && rate != 1) {
    struct timespec s = spec((int64_t)((t->tv_sec * 1000000000LL + t->tv_usec * 1000LL) / rate));
    t->tv_sec = s.tv_sec, t->tv_usec = s.tv_nsec / 1000;
  }
  return REAL(select)(n, r, w, x, t);
}

int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict t) {
  struct timespec s = page ? until(by(t), t) : *t;
  return REAL(pthread_cond_timedwait)(c, m, &s);
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict t) {
  struct timespec s = page ? until(CLOCK_REALTIME, t) : *t;
  return REAL(sem_timedwait)(sem, &s);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict m, const struct timespec *restrict t) {
  struct timespec s = page ? until(CLOCK_REALTIME, t) : *t;
  return REAL(pthread_mutex_timedlock)(m, &s);
}

#if __GLIBC_PREREQ(2, 30)
int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock, const struct timespec *restrict t) {
  struct timespec s = page ? until(clock, t) : *t;
  return REAL(pthread_cond_clockwait)(c, m, clock, &s);
}

int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict t) {
  struct timespec s = page ? until(clock, t) : *t;
  return REAL(sem_clockwait)(sem, clock, &s);
}
#endif

__attribute__((constructor)) static void load(void) {
  const char *path = getenv("LOCKLAB_CLOCK");
  char name[4096];
  ssize_t n = readlink("/proc/self/exe", name, sizeof name - 1);
  if (!path || n < 0) return;
  name[n] = 0;
  const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
  if (!strncmp(base, "python", 6) || !strncmp(base, "node", 4)) return;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return;
  page = at;
  char line[64];
  if (snprintf(name, sizeof name, "%s.loaded", path) >= (int)sizeof name) return;
  fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  n = snprintf(line, sizeof line, "%d shim\n", (int)getpid());
  if (write(fd, line, n) < 0) page = NULL; /* nobody would know of it */
  close(fd);
}
