// The protocol of Lock Lab for clients in JavaScript (docs/protocol.md). It needs Node 18 or newer, and nothing else.
//
// Give serve() a class whose objects are locks. Its constructor gets (servers, key, lease, lost): servers is a list of {host, port}, the lease
// is in milliseconds, and lost(why) says that the lock is no longer held. Its methods, async or not:
//
//   acquire()  true: acquired; false: another client holds it; a number: acquired, and valid for so many milliseconds;
//              {fence: 7, valid_ms: 950}: acquired, with these fields of the answer
//   release()  true: released; false: it was not, or no longer, ours
//   ping()     returns when the connections work (optional, but without it many scenarios do not apply)
//   renew()    check()    close()    optional; the first two answer like release
//   wait(ms)   optional: acquires within so many milliseconds in the library's own way, such as a queue; without it acquire() is tried
//              again and again
//
// A lock that names its key on its server otherwise, or has several there, lists them in this.keys; this.need is 'majority' if that is enough.
// A notice that may come late names the hold that it is about: lost(why, hold), where hold is what this.hold was during its acquire().
// Whatever they throw means that the outcome is unknown. All connections pass a proxy within this process: that is how a cancelled operation
// stops waiting, whatever the library does.
import net from 'node:net';
import readline from 'node:readline';

// What the resource compares a fence by: it refuses one that is smaller than the greatest that it was shown, and then writes, if there is something to write.
const FENCED = `if tonumber(redis.call("GET", KEYS[1]) or 0) > tonumber(ARGV[1]) then
  return redis.error_reply("STALEFENCE a greater one was seen") end
redis.call("SET", KEYS[1], ARGV[1]) return ARGV[2] and redis.call("SET", KEYS[2], ARGV[2])`;
const PAUSE = 20; // ms between two tries to acquire
const RECONNECT = 3000; // ms for which a library may try to connect again

const write = (fields) => process.stdout.write(JSON.stringify(fields) + '\n');
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function address(text) {
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(text);
  return {host, port: Number(port)};
}

/** Passes connections on to one server, and can cut all of them. */
class Proxy {
  pairs = new Set();
  shut = false;
  constructor(target) {
    this.server = net.createServer((near) => this.connect(near, target));
    this.listening = new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }
  get address() { return {host: '127.0.0.1', port: this.server.address().port}; }
  connect(near, target) {
    if (this.shut) return near.destroy();
    const far = net.connect({...target, noDelay: true});
    const pair = [near.setNoDelay(true), far];
    this.pairs.add(pair);
    for (const [source, sink] of [[near, far], [far, near]]) {
      source.pipe(sink);
      source.on('error', () => {});
      source.on('close', () => { sink.destroy(); this.pairs.delete(pair); });
    }
  }
  /** Ends all connections. Until it is called with false, new ones end at once. */
  cut(shut) {
    this.shut = shut;
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
  }
}

/** The store that the work goes to: just enough of the Redis protocol for one command at a time. */
class Resource {
  constructor(target) { this.target = target; }
  command(...words) {
    if (!this.socket || this.socket.destroyed) this.socket = net.connect({...this.target, noDelay: true});
    const {socket} = this;
    return new Promise((resolve, reject) => {
      let text = '';
      const settle = (end, value) => { socket.removeAllListeners(); socket.on('error', () => {}); end(value); };
      socket.on('error', (error) => settle(reject, error));
      socket.on('close', () => settle(reject, new Error('resource: connection lost')));
      socket.on('data', (data) => {
        text += data;
        const [, kind, line, rest] = /^(.)([^\r]*)\r\n([^]*)$/.exec(text) ?? [];
        if (kind === '-') return settle(reject, new Error('resource: ' + line));
        if (kind === '$' && line !== '-1' && rest.length < Number(line) + 2) return;
        if (kind) settle(resolve, kind !== '$' ? line : line === '-1' ? null : rest.slice(0, -2));
      });
      socket.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join(''));
    });
  }
  hangUp() { this.socket?.destroy(); }
}

/** An open lock. Its operations run one after another. */
class Handle {
  turn = Promise.resolve();
  stale = false; // its connections were cut
  kept = null; // notices during an acquire, which come behind its answer
  async open(client, request) {
    const {servers = client.init.servers, resource = client.init.resource, handle, key, lease_ms} = request;
    this.resource = resource && new Resource(address(resource));
    this.proxies = servers.map((server) => new Proxy(address(server)));
    await Promise.all(this.proxies.map((proxy) => proxy.listening));
    const lost = (why = '', hold = 0) => this.notice({lost: handle, why: String(why), hold});
    this.lock = new client.Lock(this.proxies.map((p) => p.address), key, lease_ms, lost);
    this.stale = true; // the first operation waits until the library has connected
  }
  notice(fields) {
    if (this.kept) this.kept.push(fields);
    else write(fields);
  }
  /** Runs an operation when those before it have ended. */
  start(operation) {
    this.turn = this.turn.then(async () => {
      if (operation.answered) return;
      operation.started = true;
      this.kept = operation.request.do === 'acquire' ? [] : null;
      const cancelled = new Promise((resolve) => { operation.stop = () => resolve({outcome: 'unknown', error: 'cancelled'}); });
      const ended = this.perform(operation).catch((error) => ({outcome: 'unknown', error: String(error)}));
      const fields = await Promise.race([ended, cancelled.then(() => Promise.race([ended, sleep(1000)])).then((got) => got ?? cancelled)]);
      this.fence = fields.fence ?? this.fence;
      operation.answer(fields);
      this.kept?.forEach(write);
      this.kept = null;
      if (operation.cancelled) for (const proxy of this.proxies) proxy.cut(false);
    });
  }
  async perform(operation) {
    const {do: verb, within_ms = 0} = operation.request;
    if (this.stale && verb !== 'work' && verb !== 'close') await this.connected();
    if (verb === 'work') return this.work(operation.request);
    if (verb === 'close') {
      await this.lock.close?.();
      for (const proxy of this.proxies) proxy.server.close(); // what it has connected, the lock ends itself
      return {outcome: 'ok'};
    }
    if (verb !== 'acquire') return said(await this.lock[verb]());
    this.lock.hold = operation.request.id;
    for (const until = performance.now() + within_ms; ;) {
      const got = await (within_ms && this.lock.wait ? this.lock.wait(until - performance.now()) : this.lock.acquire());
      if (operation.answered && said(got).outcome === 'ok') await this.lock.release(); // a library that resends was granted it too late
      if (got !== false || operation.cancelled || this.lock.wait || performance.now() >= until) return said(got);
      await sleep(PAUSE);
      if (operation.cancelled) return {outcome: 'unknown', error: 'cancelled'};
    }
  }
  async work({workload = 'counter', key}) {
    if (workload !== 'counter') return {outcome: 'no', unsupported: true};
    const {fence} = this, answer = {outcome: 'ok'};
    try {
      if (fence !== undefined) await this.resource.command('EVAL', FENCED, 1, key + ':fence', fence);
      answer.read = Number(await this.resource.command('GET', key) ?? 0);
      answer.wrote = answer.read + 1;
      await this.resource.command(...(fence !== undefined ? ['EVAL', FENCED, 2, key + ':fence', key, fence] : ['SET', key]), answer.wrote);
    } catch (error) {
      Object.assign(answer, {outcome: String(error).includes('STALEFENCE') ? 'no' : 'unknown', error: String(error)});
    }
    return answer;
  }
  /** Waits until the library has connected again. */
  async connected() {
    if (!this.lock.ping) return;
    for (const until = performance.now() + RECONNECT; ; await sleep(PAUSE)) {
      try {
        await this.lock.ping();
        this.stale = false;
        return;
      } catch (error) {
        if (performance.now() >= until) throw error;
      }
    }
  }
  cancel(operation) {
    operation.cancelled = true;
    if (!operation.started) return operation.answer({outcome: 'unknown', error: 'cancelled before its turn'});
    this.stale = true;
    for (const proxy of this.proxies) proxy.cut(true);
    this.resource?.hangUp();
    operation.stop();
  }
  async reconnect() {
    for (const proxy of this.proxies) proxy.cut(false);
    await this.connected();
  }
}

function said(got) {
  if (typeof got === 'number') return {outcome: 'ok', valid_ms: got};
  return {outcome: got ? 'ok' : 'no', ...(typeof got === 'object' && got)};
}

class Client {
  handles = new Map();
  operations = new Map(); // by id
  constructor(Lock, hello) { Object.assign(this, {Lock, hello}); }
  async serve(request) {
    const {do: verb, handle: name} = request;
    const handle = this.handles.get(name);
    switch (verb) {
      case 'init':
        if (request.version !== this.hello.version) return {outcome: 'no', error: 'this client speaks version 2 of the protocol'};
        this.init = request;
        return {outcome: 'ok', hello: this.hello};
      case 'open': {
        const opened = new Handle();
        this.handles.set(name, opened);
        await opened.open(this, request).catch((error) => { this.handles.delete(name); throw error; });
        const {keys, need} = opened.lock;
        return {outcome: 'ok', keys, need};
      }
      case 'cancel': {
        const operation = this.operations.get(request.op);
        if (!operation) return {outcome: 'no', error: 'not under way'};
        operation.handle.cancel(operation);
        return {outcome: 'ok'};
      }
      case 'reconnect':
        if (!this.hello.verbs.includes(verb)) break;
        await Promise.all([...this.handles.values()].map((h) => h.reconnect()));
        return {outcome: 'ok'};
      case 'acquire': case 'release': case 'work': case 'close': case 'renew': case 'check':
        if (((verb === 'renew' || verb === 'check') && !this.hello.verbs.includes(verb)) || request.wait) break;
        if (!handle) return {outcome: 'no', error: 'this handle is not open'};
        if (verb === 'close') this.handles.delete(name);
        return this.start(handle, request);
    }
    return {outcome: 'no', unsupported: true, error: 'unknown verb ' + verb};
  }
  start(handle, request) {
    const operation = {request, handle, started: false, answered: false, cancelled: false};
    operation.answer = (fields) => {
      if (!operation.answered) write({id: request.id, ...fields});
      operation.answered = true;
      this.operations.delete(request.id);
    };
    this.operations.set(request.id, operation);
    handle.start(operation);
  }
}

/** Tells the lab when its host did not run this process: what is late then is not the lock's fault. */
async function watch() {
  for (;;) {
    const began = performance.now(), used = process.cpuUsage();
    await sleep(10);
    const spent = process.cpuUsage(used);
    const late = performance.now() - began - 10 - (spent.user + spent.system) / 1000;
    if (late > 25) write({late_ms: late});
  }
}

/** Serves until the lab ends it. traits are fields of hello: name, about, promises, renews, servers, fair … */
export function serve(Lock, traits) {
  const verbs = Object.entries({renew: 'renew', check: 'check', reconnect: 'ping'}).filter(([, method]) => method in Lock.prototype).map(([verb]) => verb);
  const client = new Client(Lock, {version: 2, verbs, separate: true, ...traits});
  watch();
  const lines = readline.createInterface({input: process.stdin});
  lines.on('line', async (line) => {
    const request = JSON.parse(line);
    if (request.do === 'exit') return process.stdout.write(JSON.stringify({id: request.id, outcome: 'ok'}) + '\n', () => process.exit(0));
    const answer = await client.serve(request).catch((error) => ({outcome: 'no', error: String(error)}));
    if (answer) write({id: request.id, ...answer});
  });
  lines.on('close', () => process.exit(0));
}
