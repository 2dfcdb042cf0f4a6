"""The client for lock.sh, the lock under test: edit that file. Each operation is a process of its own, as in a script. locklab.py is the protocol."""

import os
import subprocess
import uuid

import locklab

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lock.sh")
PROMISES = ["exclusion", "release-by-owner", "crash-safe", "ignores-clocks"]


class Lock:
    def __init__(self, servers, key, lease):
        (self.host, self.port), self.key, self.lease, self.token = servers[0], key, int(lease * 1000), ""

    def call(self, verb, token):
        words = ["sh", SCRIPT, verb, self.host, str(self.port), self.key, token, str(self.lease)]
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ended.returncode > 1:
            raise OSError(ended.stderr.strip() or f"redis-cli ended with {ended.returncode}")
        return ended.returncode == 0

    def acquire(self):
        if held := self.call("acquire", token := uuid.uuid4().hex):
            self.token = token
        return held

    def release(self):
        return self.call("release", self.token)

    def check(self):
        return self.call("check", self.token)

    def ping(self):
        self.call("check", "")


if __name__ == "__main__":
    locklab.serve(Lock, name="mylock", about="a shell script with redis-cli", promises=PROMISES)
