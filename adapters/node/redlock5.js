// A client of the lab for redlock 5.0.0-beta.2: acquire, extend and release.
import Redlock, {ResourceLockedError} from 'redlock5';
import {serve} from '../../internal/kits/node/locklab.js';
import {OnRedis, has, named} from './connect.js';

class Lock extends OnRedis {
  redlock = new Redlock(this.redis, has('endless') ? {retryCount: -1} : {});
  settings = {retryCount: 0}; // the lab retries
  /** What an ExecutionError means: no, unless a server has failed. */
  async said(promise) {
    try {
      return await promise;
    } catch (error) {
      for (const {votesAgainst} of await Promise.all(error.attempts ?? [])) {
        for (const vote of votesAgainst.values()) if (!(vote instanceof ResourceLockedError)) throw vote;
      }
      if (error.name !== 'ExecutionError') throw error;
    }
  }
  async acquire() {
    const lock = await this.said(this.redlock.acquire([this.key], this.lease, this.settings));
    if (lock) this.lock = lock;
    return lock ? lock.expiration - Date.now() : false;
  }
  async release() {
    return Boolean(this.lock) && Boolean(await this.said(this.redlock.release(this.lock, has('endless') ? undefined : {retryCount: 0})));
  }
  async renew() {
    const lock = this.lock && await this.said(this.redlock.extend(this.lock, this.lease, {retryCount: 0}));
    if (lock) this.lock = lock;
    return lock ? lock.expiration - Date.now() : false;
  }
}

const hello = named('redlock-5', 'redlock 5.0.0-beta.2 on ioredis 5.11.1');
if (has('endless')) Object.assign(hello, {name: hello.name + '-endless', about: hello.about + ', retryCount -1'});
serve(Lock, {...hello, promises: ['exclusion', 'ends-with-lease', 'release-by-owner', 'renew-by-owner', 'crash-safe']});
