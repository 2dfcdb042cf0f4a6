"""Lock Lab: shows this Python the clock that the lab has set (see internal/faults/clocks). It is found through PYTHONPATH."""


def _locklab():
    import os

    path = os.environ.get("LOCKLAB_CLOCK")
    if not path:
        return
    import datetime
    import mmap
    import selectors
    import struct
    import threading
    import time

    with open(path, "rb") as file:
        page = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    setting = struct.Struct("<QqdqQ")  # generation, offset, rate, base, generation
    real_wall, real_mono, real_sleep = time.time_ns, time.monotonic_ns, time.sleep

    # base and shown: at which true time the clock was set, and what it shows then. The monotonic clock does not step.
    wall = {"generation": 0, "base": 0, "shown": 0, "rate": 1.0}
    mono = {"base": 0, "shown": 0}
    lock = threading.RLock()

    def adopt():
        while True:
            generation, offset, rate, base, end = setting.unpack_from(page, 0)
            if generation == end:
                break
        if generation == wall["generation"]:
            return
        with lock:
            if generation == wall["generation"]:
                return
            at = real_mono() - (real_wall() - base)
            mono.update(base=at, shown=mono["shown"] + int((at - mono["base"]) * wall["rate"]))
            wall.update(generation=generation, base=base, shown=base + offset, rate=rate)

    def read(clock, real):
        adopt()
        passed = real() - clock["base"]
        return clock["shown"] + (passed if wall["rate"] == 1 else int(passed * wall["rate"]))

    def wall_ns():
        return read(wall, real_wall) if wall["generation"] or page[0] else real_wall()

    def mono_ns():
        return read(mono, real_mono)

    def rate():
        adopt()
        return wall["rate"]

    def sleep(seconds):
        real_sleep(seconds / rate())

    def scaled(function):
        def with_timeout(self, timeout=None):
            return function(self, timeout if timeout is None else timeout / rate())

        return with_timeout

    def at_default(function):
        return lambda seconds=None: function(time.time() if seconds is None else seconds)

    time.time_ns, time.time = wall_ns, lambda: wall_ns() / 1e9
    time.monotonic_ns, time.monotonic = mono_ns, lambda: mono_ns() / 1e9
    time.perf_counter_ns, time.perf_counter = time.monotonic_ns, time.monotonic
    time.sleep = sleep
    time.localtime, time.gmtime, time.ctime = at_default(time.localtime), at_default(time.gmtime), at_default(time.ctime)
    real_gettime = time.clock_gettime_ns
    shown_by = {time.CLOCK_REALTIME: wall_ns, time.CLOCK_MONOTONIC: mono_ns}
    time.clock_gettime_ns = lambda clock: shown_by[clock]() if clock in shown_by else real_gettime(clock)
    time.clock_gettime = lambda clock: time.clock_gettime_ns(clock) / 1e9
    threading._time = time.monotonic
    threading.Condition.wait = scaled(threading.Condition.wait)
    for name in ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector", "KqueueSelector"):
        kind = getattr(selectors, name, None)
        if kind is not None and "select" in vars(kind):
            kind.select = scaled(kind.select)

    real_datetime, real_date = datetime.datetime, datetime.date

    class AnyOf(type):
        def __instancecheck__(cls, thing):
            return isinstance(thing, cls.__mro__[1])

        def __subclasscheck__(cls, kind):
            return issubclass(kind, cls.__mro__[1])

    class _datetime(real_datetime, metaclass=AnyOf):
        @classmethod
        def now(cls, tz=None):
            return real_datetime.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls):
            return real_datetime.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls):
            return cls.now()

    class _date(real_date, metaclass=AnyOf):
        @classmethod
        def today(cls):
            return real_date.fromtimestamp(time.time())

    _datetime.__name__ = _datetime.__qualname__ = "datetime"
    _date.__name__ = _date.__qualname__ = "date"
    datetime.datetime, datetime.date = _datetime, _date

    with open(path + ".loaded", "a") as loaded:
        loaded.write("%d python\n" % os.getpid())


def _other():
    """Run the sitecustomize that this one hides."""
    import importlib.machinery
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    rest = [p for p in sys.path if os.path.abspath(p) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        import importlib.util

        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_locklab()
_other()
