#!/usr/bin/env python3
"""A client of the lab for lock.sh, a lock in shell on redis-cli: each operation is a process of its own, as in a script."""

import os
import subprocess
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../kits/python"))
import locklab  # noqa: E402


class Lock:
    def __init__(self, servers, key, lease):
        (self.host, self.port), self.key, self.lease, self.token = servers[0], key, int(lease * 1000), ""

    def call(self, verb, token):
        words = [verb, self.host, str(self.port), self.key, token, str(self.lease)]
        ended = subprocess.run([HERE + "/lock.sh", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ended.returncode > 1:
            raise OSError(ended.stderr.strip() or f"redis-cli ended with {ended.returncode}")
        return ended.returncode == 0

    def acquire(self):
        token = uuid.uuid4().hex
        held = self.call("acquire", token)
        if held:
            self.token = token
        return held

    def release(self):
        return self.call("release", self.token)

    def check(self):
        return self.call("check", self.token)

    def ping(self):
        self.call("check", "")


locklab.serve(Lock, name="redis-cli", about="a shell script with redis-cli", promises=["exclusion", "release-by-owner", "crash-safe", "ignores-clocks"])
