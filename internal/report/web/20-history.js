// A history as the viewer reads it: events, what lasts, and what was so at each place. history.go says how it comes here.

const KINDS = ['', 'open', 'call', 'return', 'lost', 'valid', 'exit', 'command', 'fault', 'step', 'final', 'end'];
const OPS = ['', 'acquire', 'release', 'renew', 'check', 'work'];
const OUTCOMES = ['', 'ok', 'no', 'unknown'];
const EFFECTS = ['', 'created', 'removed', 'replaced', 'prolonged', 'shortened', 'unclear'];
const ENDS = ['', 'released', 'told', 'lapsed', 'exited'];

function readHistory(h) {
  const out = readEvents(h);
  out.steps = stepsOf(out);
  return out;
}

function readEvents(h) {
  const name = n => n ? h.n[n - 1] : '';
  const ms = x => Math.round(x * 1e6) / 1e6; // to the nanosecond
  const out = {events: [], byIndex: new Map(), clients: h.c.map(name), servers: h.s.map(name), count: 0};
  let at = 0;
  for (const x of h.e) {
    if (typeof x === 'number') {
      out.events.push({i: out.count, at, kind: 'gap', count: x});
      out.count += x;
      continue;
    }
    const e = {i: out.count++, at: at = ms(at + x[0]), kind: KINDS[x[1]], client: name(x[2]), lock: name(x[3]), op: OPS[x[4]], id: x[5]};
    if (e.kind === 'command') readCommand(e, x, name, ms);
    else Object.assign(e, {outcome: OUTCOMES[x[6]], valid: x[7], fence: x[8], detail: x[9] || {}});
    out.events.push(e);
    out.byIndex.set(e.i, e);
  }
  const within = s => pos => s.from <= pos && pos < s.to;
  const lasting = s => Object.assign(s, {at: within(s)});
  out.holds = h.h.map(x => lasting({client: name(x[0]), lock: name(x[1]), from: x[2], to: x[3], end: ENDS[x[4]], ended: x[5], until: pairs(x, 6)}));
  out.keys = h.k.map(x => lasting({server: name(x[0]), key: name(x[1]), value: x[2], owner: name(x[3]), from: x[4], to: x[5], expired: !!x[6], ended: x[7]}));
  out.faults = h.f.map(x => lasting({kind: x[0], target: x[1], what: x[2], from: x[3], to: x[4], lanes: x[5].map(name)}));
  out.touches = new Map();
  for (const x of h.t) {
    if (!out.touches.has(x[0])) out.touches.set(x[0], []);
    out.touches.get(x[0]).push({server: name(x[1]), key: name(x[2]), effect: EFFECTS[x[3]], owner: name(x[4])});
  }
  out.permits = 1;
  for (const e of out.events) if (e.kind === 'open') out.permits = Math.max(out.permits, e.detail.permits || 1);
  out.keyNames = new Set([...out.keys.map(k => k.key), ...out.events.map(e => e.lock)]);
  return out;
}

function pairs(x, from) {
  const out = [];
  for (let i = from; i + 1 < x.length; i += 2) out.push([x[i], x[i + 1]]);
  return out;
}

function readCommand(e, x, name, ms) {
  const state = (s, before) => !s ? null : {ttl: s[0], value: s.length > 1 ? s[1] : before.value, type: s.length > 1 ? s[2] || 'string' : before.type};
  Object.assign(e, {
    server: name(x[6]), conn: x[7], args: x[8], reply: x[9], sent: ms(e.at - x[10]), asked: x[11],
    late: !!(x[12] & 1), again: !!(x[12] & 2), dropped: !!(x[12] & 4),
  });
  e.changes = x[13].map(c => {
    const before = state(c[1]);
    return {key: name(c[0]), before, after: state(c[2], before)};
  });
}

// stepsOf are the lines of the script as they were reached. Where there is no script, each event is a step.
function stepsOf(h) {
  const steps = [], times = {};
  const scripted = h.events.some(e => e.kind === 'step' && e.detail.line);
  const begin = (e, text, line, why) => {
    const nth = times[line] = (times[line] || 0) + 1;
    steps.push({key: line + (nth > 1 ? '.' + nth : ''), line: scripted ? line : 0, text: clean(text), why: clean(why || ''), client: e.client, first: e.i, events: []});
  };
  for (const e of h.events) {
    if (scripted && e.kind === 'step') begin(e, e.detail.text, e.detail.line, e.detail.why);
    else if ((e.kind === 'final' || e.kind === 'end') && (!steps.length || steps[steps.length - 1].key !== 'end')) {
      steps.push({key: 'end', line: 0, text: 'the end', why: '', client: '', first: e.i, events: []});
    } else if (!scripted && e.kind !== 'open' && e.kind !== 'gap') begin(e, (e.client ? e.client + ' ' : '') + words(h, e).text, e.i + 1);
    if (steps.length && !(scripted && e.kind === 'step')) steps[steps.length - 1].events.push(e);
  }
  steps.forEach((s, n) => {
    const next = steps[n + 1];
    s.pos = next ? next.first - 0.5 : h.count - 0.5;
    s.began = h.byIndex.get(s.first).at;
    s.now = next ? h.byIndex.get(next.first).at : h.events[h.events.length - 1].at;
    s.two = overlap(h, s.first, s.pos);
  });
  return steps;
}

// overlap says whether more clients than may held a lock at the same time, somewhere between two places.
function overlap(h, from, to) {
  const held = h.holds.filter(s => s.from <= to && s.to > from);
  return held.some(s => {
    const at = Math.max(s.from, from);
    return held.filter(o => o.lock === s.lock && o.at(at)).length > h.permits;
  });
}

// stateAt is what was so at a place of the history.
function stateAt(h, pos, now) {
  const holders = h.holds.filter(s => s.at(pos));
  const crowded = s => holders.filter(o => o.lock === s.lock).length > h.permits;
  const clients = h.clients.map(name => {
    const hold = holders.find(s => s.client === name);
    const faults = h.faults.filter(f => f.at(pos) && f.lanes.includes(name));
    let doing = null, dead = false;
    for (const e of h.events) {
      if (e.i > pos) break;
      if (e.client !== name) continue;
      if (e.kind === 'call') doing = e;
      else if (e.kind === 'return' && doing && doing.id === e.id) doing = null;
      else if (e.kind === 'exit') [dead, doing] = [true, null];
      else if (e.kind === 'open') dead = false;
    }
    const until = hold && hold.until.filter(u => u[0] <= pos).pop();
    return {name, hold, until: until ? until[1] : -1, crowded: hold && crowded(hold), faults, doing, dead};
  });
  const servers = h.servers.map(name => ({
    name, faults: h.faults.filter(f => f.at(pos) && f.target === name),
    keys: h.keys.filter(k => k.server === name && k.at(pos)).map(k => ({...k, left: timeLeft(h, k, pos, now)})),
  }));
  return {clients, servers};
}

// lapses are what ended between two places without an event: holds by their clients' clocks, and keys.
function lapses(h, from, to) {
  const out = [];
  for (const s of h.holds) if (s.end === 'lapsed' && s.to % 1 && s.to > from && s.to <= to) out.push([s.ended, `${s.client}’s hold is over by its own clock`]);
  for (const k of h.keys) if (k.expired && k.to > from && k.to <= to) out.push([k.ended, `the lease of ${k.owner ? k.owner + '’s ' : ''}${keyName(k.key)} on ${k.server} runs out`]);
  return out.sort((a, b) => a[0] - b[0]).map(([at, text]) => ({at, text}));
}

// timeLeft is how long a key has left; -1: it does not expire.
function timeLeft(h, key, pos, now) {
  let left = -1;
  for (const e of h.events) {
    if (e.i > pos) break;
    if (e.kind !== 'command' || e.server !== key.server) continue;
    for (const c of e.changes) if (c.key === key.key && c.after) left = c.after.ttl ? Math.max(0, e.at + c.after.ttl - now) : -1;
  }
  return left;
}

// words are an event in words: text, reply, and a note on what it did to whose lock; other is set if that was another client's. It is wrong only where an
// anomaly says so: a lock may be taken over.
function words(h, e) {
  const d = e.detail || {};
  switch (e.kind) {
    case 'gap': return {text: e.rounds ? `… ${plural(e.rounds, 'round', 'rounds')} like these …` : `… ${plural(e.count, 'event is', 'events are')} left out …`};
    case 'open': return {text: 'opens ' + keyName(e.lock) + (d.leaseless ? ', no lease' : d.session ? ', session of ' + span(d.lease) : d.lease ? ', lease ' + span(d.lease) : '')};
    case 'call': return {text: 'calls ' + e.op + (d.bound ? ', tries for up to ' + span(d.bound) : '')};
    case 'return': return {text: returned(e, d), strong: true};
    case 'lost': return {text: 'is told that it has lost the lock' + (d.why ? ': ' + clean(d.why) : ''), strong: true};
    case 'valid': return {text: 'takes its hold to be valid for ' + span(e.valid)};
    case 'exit': return {text: 'is gone' + (d.why ? ': ' + clean(d.why) : ''), strong: true};
    case 'command': return commandWords(h, e);
    case 'fault': return {text: faultWords(d), fault: true};
    case 'step': return {text: clean(d.text) + (d.why ? ' (skipped: ' + clean(d.why) + ')' : '')};
    case 'final': return {text: 'at the end ' + (d.data ? 'there is ' + d.data.filter(x => x.length > 1).map(x => clean(x[0] + ': ' + x.slice(1).join(', '))).join('; ') : 'the resource reads ' + (d.value || 0))};
    case 'end': return {text: 'the script has ended: ' + clean(d.text) + (d.why ? ': ' + clean(d.why) : '')};
  }
  return {text: e.kind};
}

function returned(e, d) {
  let text = e.op + ' returns ' + e.outcome;
  if (e.op === 'work' && e.outcome === 'ok') text += d.text ? ', ' + clean(d.text) : `: it read ${d.read || 0} and wrote ${d.wrote || 0}`;
  if (e.valid > 0) text += ', valid for ' + span(e.valid);
  if (e.fence) text += ', fencing token ' + e.fence;
  if (d['gave up']) text += ', after it gave up';
  return text + (d.error ? ': ' + clean(d.error) : '');
}

// whatOf is what a fault hit, with a script by that word, and keys as the page names them.
const whatOf = d => d.what.replace(/^(EVAL(?:SHA)?) (?:"(?:[^"\\]|\\.)*"?…?|\S+)/, '$1 ‹script›').replace(/(?<=^| )(?:lab:|locklab:)?\d+:[a-z][a-z:-]*(?= |$)/g, keyName);

function faultWords(d) {
  const held = {hold: 'request', 'hold-reply': 'reply', 'hold-copy': 'copy of a request'}[d.fault];
  if (held && d.what && d.phase === 'effective') return `⚡ its ${held} is held on the wire: ` + clip(clean(whatOf(d)), 64);
  if (held && d.what && d.phase === 'recover') return `⚡ its ${held} goes on: ` + clip(clean(whatOf(d)), 64);
  const what = d.what ? ': ' + clip(clean(whatOf(d)), 64) : '';
  switch (d.phase) {
    case 'inject': return '⚡ ' + clean(d.fault) + what;
    case 'ending': return '⚡ ' + clean(d.fault) + ' is about to end' + what;
    case 'recover': return '⚡ ' + clean(d.fault) + ' is over' + what;
  }
  return '⚡ ' + clean(d.fault) + ' takes effect' + what;
}

function commandWords(h, e) {
  const script = /^(EVAL|EVALSHA|EVAL_RO|EVALSHA_RO|FCALL)$/i.test(e.args[0]);
  const args = e.args.map((arg, n) => script && n === 1 ? '‹script›' : n ? shortArg(h, arg) : clean(arg));
  let text = args.join(' ');
  if (e.again) text += ' (resent)';
  if (e.late) text += ' (late)';
  const notes = (h.touches.get(e.i) || []).map(t => noteOf(h, e, t));
  if (/^-NOSCRIPT/.test(e.reply)) notes.push({text: 'the server does not know the script yet: its client sends it in full'});
  return {text, reply: e.reply ? short(e.reply) : e.dropped ? '' : 'no reply', lost: e.dropped, note: notes.map(n => n.text).join('; '), other: notes.some(n => n.other)};
}

const shortArg = (h, arg) => h.keyNames && h.keyNames.has(arg) ? keyName(arg) : /^\d+:[a-z-]+$/.test(arg) ? keyName(arg) : short(arg);

// noteOf says what a command did to a key, and whose that was.
function noteOf(h, e, t) {
  const change = e.changes.find(c => c.key === t.key) || {};
  const life = h.keys.find(k => k.server === t.server && k.key === t.key && k.from === e.i);
  const name = keyName(t.key), value = s => s ? short(s.value) : 'nothing';
  const left = change.after && change.after.ttl ? ' for ' + span(change.after.ttl) : '';
  const other = t.owner && t.owner !== e.client;
  const whose = !t.owner ? name : other ? `${t.owner}'s ${name}` : `its own ${name}`;
  const mine = life && life.owner === e.client;
  switch (t.effect) {
    case 'created': return {text: mine ? `the ${name} is ${e.client}'s now${left}` : `makes ${name} = ${value(change.after)}${left}`};
    case 'removed': return {text: `removes ${whose}`, other};
    case 'replaced': return {text: t.owner || mine ? `puts its own value in place of ${whose}${left}` : `${name}: ${value(change.before)} → ${value(change.after)}`, other};
    case 'prolonged': return {text: `prolongs ${whose}${left ? ':' + left.replace(' for', '') + ' left' : ', without an end'}`, other};
    case 'shortened': return {text: `shortens ${whose}:${left.replace(' for', '')} left`, other};
  }
  return {text: `${name} changed, or its time ran out`};
}

// rawEvent is an event as the history has it.
function rawEvent(e) {
  const out = {};
  for (const [key, value] of Object.entries(e)) {
    if (value === '' || value === 0 || value === false || value == null || key === 'i') continue;
    if (key === 'detail' && !Object.keys(value).length) continue;
    out[key] = value;
  }
  return `event ${e.i + 1}; times in milliseconds\n` + JSON.stringify(out, null, 1);
}
