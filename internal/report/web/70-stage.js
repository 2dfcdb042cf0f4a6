// The stage: what is so after the present step, for one cell.

function stageOf(c, frame, n, v) {
  const part = frame.columns[n];
  const name = el('h3', {}, c.lock.name);
  if (!c.h) return el('article.side', {}, name, el('p.soft', {}, 'There are no steps. ' + (c.cell.trouble || '')));
  if (!part) return el('article.side', {}, name, el('p.soft', {}, 'This step was not reached here.'));
  const state = stateAt(c.h, part.pos, part.now);
  const crowd = state.clients.filter(x => x.crowded).map(x => x.name);
  return el('article.side' + (crowd.length ? '.two' : ''), {},
    el('div.side-head', {}, name, el('span.soft', {}, stamp(part.now)), crowd.length ? el('b.tag.surprise', {}, crowd.join(' and ') + ' believe that they hold') : ''),
    el('div.clients', {}, state.clients.map((x, i) => clientCard(x, i, part.now))),
    el('div.wire', {}, wire(c, part, frame, v, n)),
    el('div.servers', {}, state.servers.map(s => serverCard(s, c.h))),
    sourceOf(c, part, v));
}

// clientCard says what a client believes, until when, and what has hit it.
function clientCard(x, i, now) {
  let state = 'does not hold';
  if (x.dead) state = 'is dead';
  else if (x.hold) state = 'believes it holds';
  else if (x.doing) state = 'in ' + x.doing.op;
  const until = !x.hold ? '' : x.until < 0 ? 'until it releases' : x.until > now ? `until ${stamp(x.until)} by its clock` : 'its time is over';
  return el('div.client.c' + i % 6 + (x.hold ? '.holds' : '') + (x.crowded ? '.crowd' : ''), {},
    el('b.name', {}, x.name), el('span', {}, state), until && el('small', {}, until), x.hold && x.doing && x.doing.op !== 'acquire' ? el('small', {}, 'in ' + x.doing.op) : '',
    x.faults.filter(f => !x.dead || FAULT_STATES[f.kind] !== 'dead').map(f => el('small.hit', {}, '⚡ ' + (FAULT_STATES[f.kind] || f.kind))));
}

// What a fault has made of its target.
const FAULT_STATES = {pause: 'paused', crash: 'dead', 'thread-death': 'thread dead', partition: 'cut off', refuse: 'refused', delay: 'slow link', 'reply-lost': 'replies lost', hold: 'request held on the wire', 'hold-reply': 'reply held on the wire', 'late-request': 'late request', 'hold-copy': 'copy held on the wire', skew: 'clock is wrong', down: 'down', isolated: 'cut off', restart: 'restarted', 'split-brain': 'split'};

// serverCard says what a server has, whose it is, and for how long.
function serverCard(s, h) {
  const rows = s.keys.map(k => {
    const owner = k.owner && h.clients.indexOf(k.owner);
    const left = k.left < 0 ? (k.owner ? 'no expiry' : '') : k.left > 0 ? span(k.left) + ' left' : 'its time is over';
    return el('div.key', {}, el('code', {}, `${keyName(k.key)} = ${short(k.value)}`), k.owner ? el('b.owner.c' + owner % 6, {}, k.owner + '’s') : '', left && el('small', {}, left));
  });
  return el('div.server', {}, el('b.name', {}, s.name), s.faults.map(f => el('small.hit', {}, '⚡ ' + (FAULT_STATES[f.kind] || f.kind))), rows.length ? rows : el('div.key', {}, el('small', {}, 'has nothing')));
}

// wire is what happened in the step: commands as arrows, answers, faults.
function wire(c, part, frame, v, n) {
  const rows = steps => steps.flatMap(s => folded(c.h, s.events.filter(e => e.kind !== 'open'), c.marks).map(e => wireRow(c, e, v, n)));
  const out = rows(part.head);
  if (part.why) out.unshift(el('p.soft', {}, 'skipped: ' + part.why));
  if (frame.times > 1) out.push(el('p.soft', {}, frame.times > 2 ? `… ${plural(frame.times - 2, 'round', 'rounds')} like these …` : ''), ...rows(part.tail));
  out.push(...lapses(c.h, part.first, part.pos).map(l => el('p.lapse', {}, `${stamp(l.at)}  ${l.text}`)));
  return out.length ? out : el('p.soft', {}, 'Nothing is sent.');
}

function wireRow(c, e, v, n) {
  if (e.kind === 'gap') return el('p.soft', {}, words(c.h, e).text);
  const w = words(c.h, e), lane = c.h.clients.indexOf(e.client);
  const flags = (c.marks.get(e.i) || []).filter(i => v.happened(c, n, c.cell.symptoms[i - 1]));
  const wrong = w.other && flags.length > 0;
  const chip = (name, cls) => el('b.chip.' + cls, {}, name);
  const who = e.client && lane >= 0 ? chip(e.client, 'c' + lane % 6) : e.detail && e.detail.target ? chip(clean(e.detail.target), 'server') : '';
  const line = e.kind === 'command'
    ? [who, el('span.arrow' + (e.dropped ? '.lost' : ''), {}, el('code', {}, w.text)), chip(e.server, 'server'), el('span.reply' + (w.lost ? '.lost' : ''), {}, (w.lost ? '✗ reply lost: ' : '↩ ') + (w.reply || '?'))]
    : [who, el('span' + (w.strong ? '.strong' : w.fault ? '.hit' : ''), {}, w.text)];
  return el('details.event' + (flags.length ? '.shows' : ''), {}, el('summary', {title: 'the raw event'}, flags.map(i => el('b.flag', {}, String(i))), line, w.note ? el('span.note' + (wrong ? '.bad' : ''), {}, w.note + (wrong ? ': not its own' : '')) : ''), el('pre', {}, rawEvent(e)));
}
