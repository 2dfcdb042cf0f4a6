// What the clients in this directory have in common: connections by ioredis, and the words of their command lines.
import Redis from 'ioredis';

export const has = (word) => process.argv.includes(word);

/** Connects to each server: with the default options of ioredis, which sends again what got no reply when its connection ends, or, with the word once, without that. */
function connect(servers) {
  const once = {maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, enableOfflineQueue: false};
  const options = has('once') ? {...once, retryStrategy: () => 10} : {};
  return servers.map(({host, port}) => new Redis({host, port, ...options}).on('error', () => {}));
}

/** What locks on ioredis begin with. */
export class OnRedis {
  constructor(servers, key, lease, lost) { Object.assign(this, {redis: connect(servers), key, lease, lost}); }
  ping() { return Promise.all(this.redis.map((client) => client.ping())); }
  close() { for (const client of this.redis) client.disconnect(); }
}

/** The fields of hello that follow from the words. */
export function named(name, about) {
  const servers = has('majority') && {servers: 'majority'};
  const words = ['majority', 'once'].filter(has);
  return {name: [name, ...words].join('-'), about: [about, ...words].join(', '), resends: !has('once') && 'connection', ...servers};
}
