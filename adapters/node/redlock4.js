// A client of the lab for redlock 4.2.0.
import Redlock from 'redlock4';
import {serve} from '../../internal/kits/node/locklab.js';
import {OnRedis, named} from './connect.js';

class Lock extends OnRedis {
  constructor(...options) {
    super(...options);
    this.redlock = new Redlock(this.redis, {retryCount: 0}); // the lab retries
    this.redlock.on('clientError', (error) => { this.failed = error; });
  }
  /** What a LockError means: no, unless a server has failed. */
  async said(promise) {
    this.failed = null;
    try {
      return await promise;
    } catch (error) {
      if (error.name !== 'LockError' || this.failed) throw this.failed ?? error;
    }
  }
  async acquire() {
    const lock = await this.said(this.redlock.lock(this.key, this.lease));
    if (lock) this.lock = lock;
    return lock ? lock.expiration - Date.now() : false;
  }
  async release() { return Boolean(this.lock) && await this.said(this.lock.unlock().then(() => true)) === true; }
  async renew() {
    const lock = this.lock && await this.said(this.lock.extend(this.lease));
    return lock ? lock.expiration - Date.now() : false;
  }
}

serve(Lock, {
  ...named('redlock-4', 'redlock 4.2.0 on ioredis 5.11.1'),
  promises: ['exclusion', 'ends-with-lease', 'release-by-owner', 'renew-by-owner', 'crash-safe'],
});
