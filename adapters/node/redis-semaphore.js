// A client of the lab for redis-semaphore 5.8.0: Mutex, or with the word majority RedlockMutex.
import {Mutex, RedlockMutex} from 'redis-semaphore';
import {serve} from '../../internal/kits/node/locklab.js';
import {OnRedis, has, named} from './connect.js';

class Lock extends OnRedis {
  constructor(servers, key, lease, lost) {
    super(servers, key, lease, lost);
    this.keys = ['mutex:' + key];
    // A refresh that fails is an unhandled rejection, which ends a Node process; like many a service, this one logs it and goes on.
    process.on('unhandledRejection', (error) => console.error('unhandled', error));
    const options = {lockTimeout: lease, acquireAttemptsLimit: 1, retryInterval: 1, onLockLost: (error) => lost(error.message)}; // the lab retries
    this.make = () => has('majority') ? new RedlockMutex(this.redis, key, options) : new Mutex(this.redis[0], key, options);
    this.mutex = this.make();
  }
  async acquire() {
    if (this.mutex.isAcquired) return false;
    const mutex = this.make();
    const acquired = await mutex.tryAcquire();
    if (acquired) this.mutex = mutex;
    return acquired;
  }
  async release() {
    if (!this.mutex.isAcquired) return false;
    await this.mutex.release();
    return true;
  }
  close() {
    this.mutex.stopRefresh();
    super.close();
  }
}

serve(Lock, {
  ...named('redis-semaphore', 'redis-semaphore 5.8.0 on ioredis 5.11.1'), renews: true,
  promises: ['exclusion', 'release-by-owner', 'renew-by-owner', 'crash-safe', 'ignores-clocks', 'tells-loss'],
});
