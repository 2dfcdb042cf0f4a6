// A client of the lab for redlock 5.0.0-beta.2: using, which extends the lock while a routine runs and tells it of a loss by an AbortSignal.
import Redlock, {ResourceLockedError} from 'redlock5';
import {serve} from '../../internal/kits/node/locklab.js';
import {OnRedis, named} from './connect.js';

class Lock extends OnRedis {
  redlock = new Redlock(this.redis);
  async acquire() {
    let settings = {retryCount: 0, automaticExtensionThreshold: Math.min(500, this.lease / 2)};
    return new Promise((resolve, reject) => {
      const routine = (signal) => new Promise((end) => {
        signal.addEventListener('abort', () => this.lost(String(signal.error)));
        this.end = end;
        resolve(true);
      });
      this.ended = this.redlock.using([this.key], this.lease, settings, routine);
      this.ended.catch(async (error) => {
        for (const {votesAgainst} of await Promise.all(error.attempts ?? [])) {
          for (const vote of votesAgainst.values()) if (!(vote instanceof ResourceLockedError)) reject(vote);
        }
        error.name === 'ExecutionError' ? resolve(false) : reject(error);
      });
    });
  }
  async release() {
    if (!this.end) return false;
    this.end();
    this.end = null;
    await this.ended;
    return true;
  }
}

serve(Lock, {
  ...named('redlock-5-using', 'redlock 5.0.0-beta.2 (using) on ioredis 5.11.1'), renews: true,
  promises: ['exclusion', 'release-by-owner', 'renew-by-owner', 'crash-safe', 'tells-loss', 'tells-in-time'],
});
