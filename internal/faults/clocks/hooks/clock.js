// Lock Lab: shows this Node the clock that the lab has set (see internal/faults/clocks). It is found through NODE_OPTIONS.
'use strict';
(() => {
  const path = process.env.LOCKLAB_CLOCK;
  if (!path) return;
  const fs = require('fs');
  const file = fs.openSync(path, 'r');
  const page = Buffer.alloc(40);
  const RealDate = Date;
  const realHrtime = process.hrtime.bigint.bind(process.hrtime);
  const realWall = RealDate.now;
  const realPerformance = performance.now.bind(performance);

  // base and shown: at which true time the clock was set, and what it shows then, in ms. The monotonic clock does not step.
  const wall = { generation: 0n, base: 0, shown: 0, rate: 1 };
  const mono = { base: 0, shown: 0 };
  const trueMono = () => Number(realHrtime() / 1000n) / 1000;

  const adopt = () => {
    let generation;
    do {
      fs.readSync(file, page, 0, 40, 0);
      generation = page.readBigUInt64LE(0);
    } while (generation !== page.readBigUInt64LE(32));
    if (generation === wall.generation) return;
    const base = Number(page.readBigInt64LE(24)) / 1e6;
    const at = trueMono() - Math.max(0, realWall() - base); // whole milliseconds may seem to be before the setting
    mono.shown += (at - mono.base) * wall.rate;
    mono.base = at;
    Object.assign(wall, { generation, base, shown: base + Number(page.readBigInt64LE(8)) / 1e6, rate: page.readDoubleLE(16) });
  };
  const read = (clock, now) => clock.shown + (now - clock.base) * wall.rate;
  const now = () => { adopt(); return wall.generation === 0n ? realWall() : Math.floor(read(wall, realWall())); };
  const monotonic = () => { adopt(); return read(mono, trueMono()); };
  const started = trueMono() - realPerformance();

  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, made) => Reflect.construct(target, args.length ? args : [now()], made),
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  performance.now = () => monotonic() - started;
  process.hrtime = Object.assign((since) => {
    const ns = BigInt(Math.round(monotonic() * 1e6));
    let seconds = Number(ns / 1000000000n), rest = Number(ns % 1000000000n);
    if (since) {
      seconds -= since[0];
      rest -= since[1];
      if (rest < 0) { seconds -= 1; rest += 1e9; }
    }
    return [seconds, rest];
  }, { bigint: () => BigInt(Math.round(monotonic() * 1e6)) });

  // Timers go by the rate.
  const rate = () => { adopt(); return wall.rate; };
  const scaled = (function_, at) => {
    const with_ = function (...args) {
      if (typeof args[at] === 'number') args[at] /= rate();
      return function_.apply(this, args);
    };
    for (const key of Object.getOwnPropertySymbols(function_)) {
      with_[key] = key === require('util').promisify.custom ? scaled(function_[key], 0) : function_[key];
    }
    return with_;
  };
  const timers = require('timers'), promises = require('timers/promises');
  for (const name of ['setTimeout', 'setInterval']) {
    globalThis[name] = timers[name] = scaled(timers[name], 1);
    promises[name] = scaled(promises[name], 0);
  }

  fs.appendFileSync(path + '.loaded', `${process.pid} node\n`);
})();
