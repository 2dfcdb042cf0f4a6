// The lock under test. Edit this file; locklab.js is the protocol. First: npm install
import {randomUUID} from 'node:crypto';
import Redis from 'ioredis';
import {serve} from './locklab.js';

const RELEASE = 'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0';

class Lock {
  constructor(servers, key, lease) {
    const [{host, port}] = servers;
    Object.assign(this, {key, lease, token: ''});
    // No silent retries: a command is sent once, or fails.
    const options = {maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, enableOfflineQueue: false, retryStrategy: () => 10};
    this.redis = new Redis({host, port, ...options});
    this.redis.on('error', () => {});
  }
  async acquire() {
    const token = randomUUID();
    const held = await this.redis.set(this.key, token, 'PX', this.lease, 'NX') === 'OK';
    if (held) this.token = token;
    return held;
  }
  async release() { return await this.redis.eval(RELEASE, 1, this.key, this.token) === 1; }
  async check() { return await this.redis.get(this.key) === this.token; }
  async ping() { await this.redis.ping(); }
  close() { this.redis.disconnect(); }
}

serve(Lock, {
  name: 'mylock', about: 'SET NX PX with a token, on ioredis',
  promises: ['exclusion', 'release-by-owner', 'crash-safe', 'ignores-clocks'],
});
