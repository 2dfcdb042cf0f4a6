// The film strip: the whole history, a line for each event, with lanes for clients and servers. Frames of the viewer are its sections, so rounds that
// are alike stand there once.

// Widths, in pixels of a page that is not for a projector: of a lane where there is room, of a letter of its name, of a time, and of a symptom's number
// before it.
const LANE = {client: 58, server: 74}, LETTER = 7.5, TIME = 60, FLAG = 19;
const scale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;

// film draws the frames of one column into an element.
function film(into, h, frames, column, marks, onStep) {
  const most = Math.max(1, ...frames.flatMap(f => f.columns[column] ? [...f.columns[column].head, ...f.columns[column].tail] : []).flatMap(s => s.events.map(e => (marks.get(e.i) || []).length)));
  const room = into.clientWidth || 600, times = scale() * (TIME + FLAG * Math.min(most, room < 500 ? 1 : 4)), lanes = laneWidths(h, room - times);
  into.style.setProperty('--times', times + 'px');
  const head = el('div.film-head', {'aria-hidden': 'true'}, el('span.when', {}, 'time'), el('span.names', {style: `width:${lanes.wide}px`}, lanes.all.map(l => el('span.' + l.cls, {style: `width:${l.width}px`, title: l.name}, l.name))), el('span'));
  const body = frames.map((frame, n) => {
    const part = frame.columns[column];
    if (!part) return null;
    const section = el('section', {'data-frame': n});
    const title = el('button.film-step', {type: 'button', onclick: () => onStep(n)}, frame.text + (frame.times > 1 ? `  × ${frame.times}` : '') + (part.why ? `  (skipped: ${part.why})` : ''));
    if (frame.lines.length || frame.key === 'end') section.append(title);
    else section.addEventListener('click', () => onStep(n)); // an event by itself
    section.append(...part.head.flatMap(s => folded(h, s.events, marks).map(e => filmRow(h, e, lanes, marks))));
    if (frame.times > 2) section.append(el('p.film-gap', {}, `… ${plural(frame.times - 2, 'round', 'rounds')} like these …`));
    if (frame.times > 1) section.append(...part.tail.flatMap(s => folded(h, s.events, marks).map(e => filmRow(h, e, lanes, marks))));
    section.append(...lapses(h, part.first, part.pos).map(l => el('div.film-row', {}, el('span.when', {}, (l.at / 1000).toFixed(3)), el('span.lapse', {}, l.text))));
    return section;
  });
  into.replaceChildren(head, ...body.filter(Boolean));
}

// laneWidths gives each lane the width of its name, and shares what is left; if there is too little, all are cut alike.
function laneWidths(h, room) {
  const lane = (name, cls, most) => {
    const least = 8 + scale() * LETTER * name.length;
    return {name, cls, least, most: Math.max(most, least)};
  };
  const names = [...h.clients.map((name, n) => lane(name, 'c' + n % 6, LANE.client)), ...h.servers.map(name => lane(name, 'lane-server', LANE.server))];
  const sum = key => names.reduce((all, l) => all + l[key], 0), have = Math.min(sum('most'), room * (room < 600 ? 0.5 : 0.45));
  const rest = Math.max(0, have - sum('least')), share = Math.min(1, have / sum('least')), more = sum('most') - sum('least');
  let x = 0;
  const all = names.map(l => {
    const width = Math.max(12, Math.floor(l.least * share + (more ? rest * (l.most - l.least) / more : 0)));
    x += width;
    return {...l, width, x: x - width / 2};
  });
  return {all, wide: x, of: new Map(all.map(l => [l.name, l]))};
}

function filmRow(h, e, lanes, marks) {
  const w = words(h, e), flags = marks.get(e.i) || [];
  if (e.kind === 'gap') return el('p.film-gap', {}, w.text);
  const text = [el('span', {}, e.kind === 'command' ? el('code', {}, w.text) : w.text)];
  if (w.reply != null && e.kind === 'command') text.push(' ', el('span.reply', {}, '→ ' + (w.reply || '?') + (w.lost ? ' (reply lost)' : '')));
  if (w.note) text.push(el('span.note' + (w.other && flags.length ? '.bad' : ''), {}, w.note));
  return el('div.film-row' + (flags.length ? '.shows' : ''), {'data-event': e.i}, el('span.when', {}, flags.map(n => el('b.flag', {}, String(n))), ' ', (e.at / 1000).toFixed(3)), lanesOf(h, e, lanes), el('span.text', {}, text));
}

// lanesOf draws the lanes beside an event: who holds, what has hit whom, whose the keys are, and the command as an arrow.
function lanesOf(h, e, lanes) {
  const out = svg('svg', {width: '100%', height: '100%', 'aria-hidden': 'true'});
  const bar = (x, wide, cls) => out.append(svg('rect', {x: x - wide / 2, y: 0, width: wide, height: '100%', class: cls}));
  for (const l of lanes.all) bar(l.x, 1.5, 'axis');
  for (const f of h.faults) if (f.at(e.i)) for (const name of f.lanes) bar(lanes.of.get(name).x, Math.min(26, lanes.of.get(name).width), 'fault');
  for (const s of h.holds) if (s.at(e.i)) bar(lanes.of.get(s.client).x, 9, 'hold ' + lanes.of.get(s.client).cls);
  const slots = {};
  for (const k of h.keys) {
    if (!k.at(e.i)) continue;
    const lane = lanes.of.get(k.server), slot = slots[k.server] = (slots[k.server] || 0) + 1;
    if (lane && slot <= 3) bar(lane.x + (slot - 1) * 7, 5, k.owner ? 'owned ' + (lanes.of.get(k.owner) || {cls: ''}).cls : 'key');
  }
  const from = lanes.of.get(e.client), to = lanes.of.get(e.server);
  if (to) {
    const x = from ? from.x : to.x - 30, end = to.x - 5;
    out.append(svg('path', {d: `M${x} 11H${end}`, class: 'arrow' + (e.dropped ? ' lost' : '')}), svg('path', {d: `M${end} 11l-6 -4v8z`, class: 'tip'}));
  }
  const at = from || lanes.of.get(e.detail && e.detail.target);
  if (at) out.append(svg('circle', {cx: at.x, cy: 11, r: 3.5, class: 'dot'}));
  return el('div.lanes', {style: `width:${lanes.wide}px`}, out);
}
