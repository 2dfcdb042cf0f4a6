// A storm: a timeline of the whole of it, and the steps around a place in it. page_storm.go says what the page knows of one. Its events lie in pieces, of
// which only those around the place are unpacked.

// Steps before and after the place that are shown; what an anomaly began with is shown too if it is not further away.
const BEFORE = 70, AFTER = 50, FURTHEST = 160;
const MOST_TIMELINES = 30; // on the first screen

const storms = {
  made: 0, // timelines
  asked: false, // for the steps of a place in a timeline
  shown: null, // the steps that the viewer has: {item, h}
  listed: false, // its anomalies are open
  line: null, // the timeline above them

  // init shows timelines on the first screen: what needs attention first.
  async init() {
    const urgent = ['surprise', 'failed', 'unknown', 'broken', 'safe', 'na'];
    const all = matrix.items.filter(c => c.storm).sort((a, b) => urgent.indexOf(a.cls) - urgent.indexOf(b.cls) || a.n - b.n);
    if (!all.length) return;
    document.querySelector('.findings').after(el('section', {id: 'storms', 'aria-label': 'Storms'}));
    if (all.length > MOST_TIMELINES) $('storms').append(el('p.soft', {}, `${MOST_TIMELINES} of ${all.length} storms; the matrix has all.`));
    for (const item of all.slice(0, MOST_TIMELINES)) {
      const cell = (await unpack('cells-' + item.scenario))[item.at];
      const lock = matrix.locks[item.lock].name, round = matrix.rounds(item).length > 1 ? item.round : 0;
      const title = el('h3', {}, el('a', {href: hrefOf(lock, matrix.scenarios[item.scenario].name, {round})}, lock + (round ? `, storm ${round}` : '')), ' ', el('b.tag.' + item.cls, {}, CLASS_WORDS[item.cls]));
      const article = el('article.storm', {}, title, el('p.soft', {}, cell.storm || cell.trouble || ''));
      $('storms').append(article);
      if (cell.timeline) new Timeline(article, item, cell);
    }
  },

  // part is a storm's history around a step, as the viewer reads one; of a step that is shown already, what is shown. Other cells have none.
  async part(item, cell, step) {
    const t = cell.timeline;
    if (!t) return null;
    const at = step ? Math.max(0, Math.min(t.events - 1, parseInt(step, 10) - 1 || 0)) : firstPlace(cell);
    const {shown} = this;
    if (shown && shown.item === item && shown.h.since <= at && at < shown.h.until) return shown.h;
    const wanted = pieceAt(t, at), near = pieceWithSteps(t, wanted);
    if (near < 0) return null;
    let from = near, to = near;
    while (to < near + 1 && hasPiece(t, to + 1)) to++;
    const began = Math.min(at, ...(cell.symptoms || []).filter(s => s.events.includes(at)).flatMap(s => s.events));
    while (hasPiece(t, from - 1) && (from > near - 1 || t.pieces[from][0] > began && from > near - 3)) from--;
    const read = [];
    for (let k = from; k <= to; k++) read.push(await unpack(`piece-${item.n}-${k}`));
    const h = joined(read, t, from);
    const all = stepsOf(h).filter(s => s.first >= t.pieces[from][0]), place = stepAt(all, at), first = stepAt(all, began);
    if (!all.length) return null;
    const lo = Math.max(0, place - first <= FURTHEST ? Math.min(place - BEFORE, first - 5) : place - BEFORE), hi = Math.min(all.length, place + AFTER);
    Object.assign(h, {elsewhere: near !== wanted, steps: all.slice(lo, hi), since: all[lo].first, until: hi < all.length ? all[hi].first : h.count, before: lo > 0 ? all[lo - 1].first : null, after: hi < all.length ? all[hi].first : null});
    const taking = new Set(h.events.filter(e => e.i >= h.since && e.i < h.until).map(e => e.client));
    const last = h.steps[h.steps.length - 1].pos;
    for (const s of h.holds) if (s.from <= last && s.to > h.since) taking.add(s.client);
    for (const k of h.keys) if (k.from <= last && k.to > h.since) taking.add(k.owner);
    h.clients = t.clients.filter(c => taking.has(c));
    for (const f of h.faults) f.lanes = f.lanes.filter(l => taking.has(l));
    this.shown = {item, h};
    return h;
  },

  // beyond goes on to the steps before or after those that are shown, and says whether it does.
  beyond(v, by) {
    const [c] = v.columns, at = v.at + by;
    if (!c || !c.item.storm || !c.h || at >= 0 && at < v.frames.length) return false;
    const event = at < 0 ? c.h.before : c.h.after;
    if (event == null) return false;
    history.replaceState(null, '', hrefOf(v.state.lock, v.state.scenario, {...v.state, step: String(event + 1)}));
    route();
    return true;
  },

  // build puts the timeline above the steps, and says which steps these are.
  build(v) {
    const [c] = v.columns;
    this.line = null;
    if (!c.cell.timeline) return;
    const section = el('section.storm', {'aria-label': 'Storm'});
    $('heads').after(section);
    this.line = new Timeline(section, c.item, c.cell);
    $('player').before(el('p.soft', {id: 'window'}));
  },

  // list are the anomalies of a storm, which are many: a reader who opens them has them open from step to step.
  list(symptoms, items) {
    return el('details', {open: this.listed, ontoggle: e => { this.listed = e.target.open; }}, el('summary', {}, plural(symptoms.length, 'anomaly: ', 'anomalies: ') + [...new Set(symptoms.map(s => s.name))].join(', ')), el('ol.symptoms', {}, items));
  },

  // mark shows on the timeline what the viewer shows.
  mark(v) {
    const [c] = v.columns;
    if (!this.line || !c.h || !v.frames.length) return;
    const part = v.frames[v.at].columns[0], {h} = c, t = c.cell.timeline, last = h.steps[h.steps.length - 1];
    this.line.show(h.steps[0].began, last.now, part.now);
    const {asked} = this;
    this.asked = false;
    requestAnimationFrame(() => { // the film strip is drawn, and the page has gone to its top, by then
      const row = document.querySelector('#film-0 .now');
      if (row) row.parentNode.scrollTop += row.getBoundingClientRect().top - row.parentNode.getBoundingClientRect().top - row.parentNode.clientHeight / 3;
      if (!asked) return;
      $('player').scrollIntoView();
      $('next').focus({preventScroll: true});
    });
    $('window').textContent = (h.elsewhere ? 'The page lacks the steps that were asked for, since the storm is too long; these are the nearest, and the history has all. ' : '') + `From ${stamp(h.steps[0].began)} to ${stamp(last.now)}, which are events ${h.since + 1} to ${h.until} of ${t.events}; arrow keys go on. `
      + `Refused tries, and what a waiting client asks again, are left out: ${t.events - t.kept} events of the storm.`;
  },
};

// pieceAt is the number of the piece with an event.
function pieceAt(t, event) {
  let k = 0;
  while (k + 1 < t.pieces.length && t.pieces[k + 1][0] <= event) k++;
  return k;
}

const hasPiece = (t, k) => k >= 0 && k < t.pieces.length && t.pieces[k][2] === 1;

// pieceWithSteps is the nearest piece that the page has.
function pieceWithSteps(t, k) {
  for (let d = 0; d < t.pieces.length; d++) for (const n of [k - d, k + d]) if (hasPiece(t, n)) return n;
  return -1;
}

// stepAt is the number of the step with an event.
function stepAt(steps, event) {
  let n = 0;
  while (n + 1 < steps.length && steps[n + 1].first <= event) n++;
  return n;
}

// firstPlace is where a reader begins: at the first anomaly, of which the finding tells. Those that break a promise come first.
function firstPlace(cell) {
  const [first] = cell.symptoms || [];
  return first ? Math.max(0, ...first.events) : 0;
}

// joined are pieces of a history as one. What a piece knows of the time before it is needed of the first only.
function joined(pieces, t, from) {
  const read = pieces.map(readEvents), [h] = read;
  const begin = n => t.pieces[from + n][0];
  const once = (list, key) => [...new Map(list.map(x => [key(x), x])).values()];
  const all = name => read.flatMap(r => r[name]);
  h.events = read.flatMap((r, n) => r.events.filter(e => e.kind !== 'gap' && (e.i >= begin(n) || n === 0)));
  h.byIndex = new Map(h.events.map(e => [e.i, e]));
  h.holds = once(all('holds'), s => s.client + s.lock + s.from);
  h.keys = once(all('keys'), k => k.server + ' ' + k.key + k.from);
  h.faults = once(all('faults'), f => f.kind + f.target + f.from).map(f => ({...f, lanes: [...new Set(all('faults').filter(o => o.kind === f.kind && o.target === f.target && o.from === f.from).flatMap(o => o.lanes))]}));
  h.touches = new Map(read.flatMap(r => [...r.touches]));
  h.servers = [...new Set(read.flatMap(r => r.servers))];
  h.keyNames = new Set(read.flatMap(r => [...r.keyNames]));
  h.permits = Math.max(...read.map(r => r.permits));
  h.count = from + pieces.length < t.pieces.length ? begin(pieces.length) : t.events;
  return h;
}

// timesOf reads the answers of a storm: when, how long it took, to what, and how. Times are milliseconds.
function timesOf(t) {
  const out = [];
  for (let i = 0, at = 0; i < (t.ops || []).length; i += 3) {
    at += t.ops[i];
    out.push({at: at / 10, took: t.ops[i + 1] / 10, op: OPS[t.ops[i + 2] >> 2], outcome: OUTCOMES[t.ops[i + 2] & 3]});
  }
  return out;
}

// slicesOf counts answers in slices of time: how many were ok, no and unknown, and how long granted acquires took.
function slicesOf(answers, from, to, width) {
  const slices = Array.from({length: Math.max(1, Math.ceil((to - from) / width - 1e-9))}, (_, n) => ({from: from + n * width, to: from + (n + 1) * width, ok: 0, no: 0, unknown: 0, took: []}));
  for (const a of answers) {
    const s = slices[Math.floor((a.at - from) / width)];
    if (a.at < from || !s) continue;
    s[a.outcome]++;
    if (a.op === 'acquire' && a.outcome === 'ok') s.took.push(a.took);
  }
  for (const s of slices) {
    s.took.sort((a, b) => a - b);
    s.all = s.ok + s.no + s.unknown;
  }
  return slices;
}

// percentile is the least value that so many hundredths of the values do not exceed.
const percentile = (sorted, p) => sorted[Math.max(0, Math.ceil(sorted.length * p / 100) - 1)];

// roundUp is the next round number.
function roundUp(x, round = [1, 2, 5, 10]) {
  const ten = 10 ** Math.floor(Math.log10(x));
  return round.map(n => n * ten).find(n => n >= x * (1 - 1e-9));
}

const MOST_NAMED = 6; // faults and anomalies at a place
const PERCENTILES = [[50, 'p50'], [90, 'p90'], [99, 'p99']];
const ANSWERS = [['ok', 'ok'], ['no', 'refused'], ['unknown', 'unknown']];

// Timeline draws a storm: answers and latencies by slices of time, faults as bands, anomalies as marks. A place in it leads to the steps there.
class Timeline {
  constructor(into, item, cell) {
    Object.assign(this, {number: storms.made++, item, cell, t: cell.timeline, length: Math.max(1, cell.timeline.length / 10)});
    this.answers = cell.answers = cell.answers || timesOf(this.t);
    this.faults = (this.t.faults || []).map(f => ({...f, from: f.from / 10, to: f.to / 10}));
    this.kinds = [...new Set(this.faults.map(f => f.kind))].sort();
    [this.from, this.to] = [0, this.length];
    this.cursor = cell.symptoms ? cell.symptoms[0].at : 0;
    const button = (text, name, act) => el('button', {type: 'button', 'aria-label': name, title: name, onclick: act}, text);
    this.marks = el('div.marks');
    this.plot = el('div.plot', {
      tabindex: 0, role: 'slider', 'aria-label': `Timeline of ${matrix.locks[item.lock].name}`, 'aria-valuemin': 0, 'aria-valuemax': Math.round(this.length),
      onkeydown: e => this.key(e), onpointermove: e => this.point(e), onpointerdown: e => this.press(e), onpointerup: e => this.release(e), onwheel: e => this.wheel(e),
    });
    this.told = el('p.told');
    into.append(el('div.timeline', {},
      el('div.line-bar', {}, button('−', 'show more of the storm', () => this.zoom(2)), button('+', 'show less of it', () => this.zoom(0.5)), button('whole storm', 'show the whole storm', () => this.reset()),
        button('steps', 'go to the steps at the cursor', () => this.open(this.cursor)), el('span.hint.soft', {}, '← → move, page keys: anomalies, + − zoom, Enter: steps')),
      this.marks, this.plot, this.told, this.legend()));
    new ResizeObserver(() => this.draw()).observe(into);
    this.draw();
  }

  legend() {
    const swatch = (cls, text) => el('li', {}, el('i.' + cls, {'aria-hidden': 'true'}), ' ' + text);
    return el('ul.line-legend', {}, ANSWERS.map(([key, text]) => swatch('answer-' + key, text)), PERCENTILES.map(([, name]) => swatch(name, name + ' of granted acquires')), swatch('band', 'a fault, by its kind'),
      (this.cell.symptoms || []).some(s => !s.beyond) && el('li', {}, el('b.flag', {}, '1'), ' an anomaly'), (this.cell.symptoms || []).some(s => s.beyond) && el('li', {}, el('b.flag.beyond', {}, '2'), ' one that the lock does not promise to prevent'),
      this.t.seen && swatch('tick', 'further ones of the same kinds'), this.t.pieces.some(p => !p[2]) && swatch('lacking', 'the page lacks these steps'));
  }

  // draw draws what is in view.
  draw() {
    const wide = this.plot.clientWidth;
    if (!wide) return; // it is hidden
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;
    const left = Math.round((wide < 640 * unit ? 70 : 104) * unit), lane = 15 * unit, high = 84 * unit, title = 18 * unit;
    this.at = {wide, left, right: wide - 10 * unit, unit};
    this.slice = roundUp((this.to - this.from) / ((this.at.right - left) / (9 * unit)));
    const begin = Math.floor(this.from / this.slice) * this.slice;
    this.slices = slicesOf(this.answers, begin, Math.max(this.to, begin + this.slice), this.slice);
    const rows = {rate: 1.4 * title, took: 2.4 * title + high, faults: 3 * title + 2 * high};
    const bottom = rows.faults + this.kinds.length * lane + 4 * unit;
    this.at.bottom = bottom;
    const out = svg('svg', {viewBox: `0 0 ${wide} ${bottom + 18 * unit}`, 'aria-hidden': 'true'});
    const clip = 'clip-' + this.number;
    out.append(svg('clipPath', {id: clip}, svg('rect', {x: left, y: 0, width: this.at.right - left, height: bottom})));
    const inside = svg('g', {'clip-path': `url(#${clip})`});
    this.t.pieces.forEach(([, at, here], k) => {
      const until = k + 1 < this.t.pieces.length ? this.t.pieces[k + 1][1] / 10 : this.length;
      if (!here) inside.append(svg('rect', {class: 'lacking', x: this.x(at / 10), y: 0, width: Math.max(0, this.x(until) - this.x(at / 10)), height: bottom}));
    });
    this.axis(out, bottom);
    out.append(inside);
    this.rates(out, inside, rows.rate, high);
    this.latencies(out, inside, rows.took, high);
    this.bands(out, inside, rows.faults, lane);
    for (const n of (this.t.notes || []).slice(1)) inside.append(svg('line', {class: 'noted', x1: this.x(n.at / 10), x2: this.x(n.at / 10), y1: 0, y2: bottom}, svg('title', {}, n.text)));
    for (const s of this.cell.symptoms || []) inside.append(svg('line', {class: 'struck' + (s.beyond ? ' beyond' : ''), x1: this.x(s.at), x2: this.x(s.at), y1: 0, y2: bottom}));
    this.ticks(inside);
    this.seen = svg('rect', {class: 'seen', y: 0, height: bottom, width: 0});
    this.now = svg('line', {class: 'now', y1: 0, y2: bottom});
    inside.append(this.seen, this.now);
    this.title(out, rows.rate, `answers in each ${span(this.slice)}`);
    this.title(out, rows.took, 'how long granted acquires took');
    this.plot.replaceChildren(out);
    this.flags();
    this.drawSeen();
    this.tell();
  }

  x(ms) { return this.at.left + (ms - this.from) / (this.to - this.from) * (this.at.right - this.at.left); }
  time(x) { return Math.max(0, Math.min(this.length, this.from + (x - this.at.left) / (this.at.right - this.at.left) * (this.to - this.from))); }

  axis(out, bottom) {
    const {left, right, unit} = this.at, every = roundUp((this.to - this.from) / ((right - left) / (80 * unit)));
    for (let ms = Math.ceil(this.from / every) * every; ms <= this.to; ms += every) {
      out.append(svg('line', {class: 'grid-line', x1: this.x(ms), x2: this.x(ms), y1: 0, y2: bottom}));
      out.append(svg('text', {x: this.x(ms), y: bottom + 13 * unit, 'text-anchor': this.x(ms) > right - 20 * unit ? 'end' : 'middle'}, ms ? span(ms) : '0'));
    }
  }

  // ticks are the anomalies that have no mark, since the verdict has the first of each sort only. Those on the same dots are drawn once.
  ticks(inside) {
    const drawn = new Set();
    for (const s of this.t.seen || []) for (const at of s.at_ms) {
      const x = Math.round(this.x(at)), key = x + ' ' + !!s.beyond;
      if (drawn.has(key) || at < this.from || at > this.to) continue;
      drawn.add(key);
      inside.append(svg('line', {class: 'tick' + (s.beyond ? ' beyond' : ''), x1: x, x2: x, y1: 0, y2: 8 * this.at.unit}));
    }
  }

  // label is what stands before a height of a chart, or the name of a lane; title what stands above a chart.
  label(out, y, text) { out.append(svg('text', {x: this.at.left - 6 * this.at.unit, y: y + 4 * this.at.unit, 'text-anchor': 'end'}, text)); }
  title(out, y, text) { out.append(svg('text', {x: this.at.left, y: y - 5 * this.at.unit, class: 'title'}, text)); }

  rates(out, inside, y, high) {
    const perSecond = roundUp(Math.max(1, ...this.slices.map(s => s.all)) / this.slice * 1000, [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]), most = perSecond * this.slice / 1000;
    this.label(out, y, number(perSecond, 1) + ' / s');
    this.label(out, y + high, '0');
    out.append(svg('line', {class: 'base', x1: this.at.left, x2: this.at.right, y1: y + high, y2: y + high}));
    for (const s of this.slices) {
      let under = y + high;
      for (const [key] of ANSWERS) {
        const tall = s[key] / most * high;
        if (!tall) continue;
        under -= tall;
        inside.append(svg('rect', {class: 'answer-' + key, x: this.x(s.from), y: under, width: Math.max(1, this.x(s.to) - this.x(s.from) - 1), height: tall}));
      }
    }
  }

  // latencies are on a logarithmic scale: a wait for a lease is a thousand times as long as a command.
  latencies(out, inside, y, high) {
    const all = this.slices.flatMap(s => s.took), least = Math.max(0.1, Math.min(...all)), most = Math.max(...all, 1);
    const [low, top] = all.length ? [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))] : [0, 1];
    const up = ms => y + high - (Math.log10(Math.max(ms, 10 ** low)) - low) / Math.max(1, top - low) * high;
    for (let d = low; d <= Math.max(top, low + 1); d++) {
      out.append(svg('line', {class: 'grid-line', x1: this.at.left, x2: this.at.right, y1: up(10 ** d), y2: up(10 ** d)}));
      this.label(out, up(10 ** d), span(10 ** d));
    }
    for (const [p, name] of PERCENTILES.toReversed()) { // those that coincide lie on each other, the narrower above
      let path = '', on = false;
      for (const s of this.slices) {
        if (!s.took.length) { on = false; continue; }
        const value = up(percentile(s.took, p));
        path += `${on ? 'L' : 'M'}${this.x(s.from)} ${value}H${this.x(s.to)}`;
        on = true;
      }
      inside.append(svg('path', {class: 'line ' + name, d: path}));
    }
  }

  // bands are the faults, a lane for each kind. What would lie on the same dots is drawn once.
  bands(out, inside, y, lane) {
    const {unit} = this.at;
    this.kinds.forEach((kind, n) => {
      const top = y + n * lane;
      this.label(out, top + lane / 2, kind);
      out.append(svg('line', {class: 'grid-line', x1: this.at.left, x2: this.at.right, y1: top + lane, y2: top + lane}));
      const all = this.faults.filter(f => f.kind === kind && f.to >= this.from && f.from <= this.to);
      let drawn = -1;
      all.forEach((f, i) => {
        const from = Math.max(this.x(f.from), this.at.left - 4), to = Math.max(from + 2, this.x(f.to)), begun = drawn;
        if (to <= drawn + 0.5 && to - from < 3) return;
        drawn = Math.max(drawn, to);
        inside.append(svg('rect', {class: 'band' + (f.awaits ? ' awaits' : ''), x: from, y: top + 1.5 * unit, width: to - from, height: lane - 3 * unit}, svg('title', {}, bandWords(f))));
        const ends = Math.max(from, this.at.left) + (f.target.length * 8 + 6) * unit;
        if (to >= ends && begun <= from && !(i + 1 < all.length && this.x(all[i + 1].from) < ends)) inside.append(svg('text', {class: 'target', x: Math.max(from, this.at.left) + 3 * unit, y: top + 11 * unit}, f.target));
      });
    });
  }

  // flags are the marks: links to the steps. Those that have no room are one that names how many there are.
  flags() {
    const shown = (this.cell.symptoms || []).map((s, n) => ({...s, number: n + 1})).filter(s => s.at >= this.from && s.at <= this.to).sort((a, b) => !!a.beyond - !!b.beyond || a.at - b.at);
    const wide = 34 * this.at.unit, flags = [];
    for (const s of shown) {
      const x = this.x(s.at), near = flags.filter(f => Math.abs(f.x - x) < wide);
      const level = [0, 1, 2].find(n => !near.some(f => f.level === n));
      if (level != null) flags.push({s, x, level, more: []});
      else near.find(f => f.level === 2).more.push(s);
    }
    flags.sort((a, b) => a.x - b.x);
    const said = s => `${s.number}: ${s.name} at ${stamp(s.at)}${s.beyond ? ', beyond what the lock promises' : ''}`;
    this.marks.style.height = (flags.length ? 1.5 * (1 + Math.max(...flags.map(f => f.level))) : 0) + 'rem';
    this.marks.replaceChildren(...flags.map(({s, x, level, more}) => el('a.flag' + (s.beyond ? '.beyond' : ''), {
      href: this.href(Math.max(0, ...s.events) + 1), style: `left:${x / this.at.wide * 100}%;top:${level * 1.5}rem`, title: [s, ...more].map(said).join('\n'),
      'aria-label': said(s) + (more.length ? ` and ${more.length} more` : '') + ': its steps', onfocus: () => this.move(s.at), onclick: e => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return; // elsewhere
        e.preventDefault();
        this.go(Math.max(0, ...s.events));
      },
    }, more.length ? s.number + '…' : String(s.number))));
  }

  href(step) {
    const round = matrix.rounds(this.item).length > 1 ? this.item.round : 0;
    return hrefOf(matrix.locks[this.item.lock].name, matrix.scenarios[this.item.scenario].name, {step: String(step), round});
  }

  // open goes to the steps at a time.
  async open(ms) {
    const near = (this.cell.symptoms || []).find(s => Math.abs(this.x(s.at) - this.x(ms)) < 2);
    if (near) return this.go(Math.max(0, ...near.events));
    let k = 0;
    while (k + 1 < this.t.pieces.length && this.t.pieces[k + 1][1] / 10 <= ms) k++;
    if ((k = pieceWithSteps(this.t, k)) < 0) return;
    const events = readEvents(await unpack(`piece-${this.item.n}-${k}`)).events.filter(e => e.kind !== 'gap' && e.i >= this.t.pieces[k][0]);
    this.go((events.find(e => e.at >= ms) || events[events.length - 1]).i);
  }

  // go leaves it to the viewer to show an event.
  go(event) {
    storms.asked = true;
    const href = this.href(event + 1);
    if (location.hash === href) route();
    else location.hash = href;
  }

  // show marks the time of the steps that the viewer has, and the present one.
  show(from, to, now) {
    this.window = [from, to];
    this.move(now);
  }

  drawSeen() {
    if (!this.at) return;
    if (this.window) {
      const [a, b] = this.window.map(ms => this.x(ms));
      this.seen.setAttribute('x', a);
      this.seen.setAttribute('width', Math.max(2, b - a));
    }
    for (const end of ['x1', 'x2']) this.now.setAttribute(end, this.x(this.cursor));
  }

  // move moves the cursor; it stays in view.
  move(ms) {
    this.cursor = Math.max(0, Math.min(this.length, ms));
    const wide = this.to - this.from;
    if (this.cursor < this.from || this.cursor > this.to) {
      this.from = Math.max(0, Math.min(this.length - wide, this.cursor - wide / 2));
      this.to = this.from + wide;
      this.draw();
    }
    if (!this.at) return;
    this.drawSeen();
    this.tell();
  }

  zoom(by) {
    const wide = Math.max(Math.min(20, this.length), Math.min(this.length, (this.to - this.from) * by)), share = (this.cursor - this.from) / (this.to - this.from);
    this.from = Math.max(0, Math.min(this.length - wide, this.cursor - wide * share));
    this.to = this.from + wide;
    this.draw();
  }

  reset() {
    [this.from, this.to] = [0, this.length];
    this.draw();
  }

  // tell says in words what is at the cursor.
  tell() {
    const s = this.slices[Math.min(this.slices.length - 1, Math.max(0, Math.floor((this.cursor - this.slices[0].from) / this.slice)))];
    const inSlice = at => at >= s.from && at < s.to;
    const answers = ANSWERS.filter(([key]) => s[key]).map(([key, text]) => `${s[key]} ${text}`).join(', ');
    const took = s.took.length ? 'granted after ' + PERCENTILES.map(([p, name]) => `${name} ${span(percentile(s.took, p))}`).join(', ') : '';
    const faults = [...new Set(this.faults.filter(f => f.from <= this.cursor && f.to > this.cursor || inSlice(f.from)).map(f => `${f.kind} of ${f.target}`))];
    const found = (this.cell.symptoms || []).flatMap((a, n) => inSlice(a.at) ? [`${a.name} (${n + 1})`] : []);
    for (const x of this.t.seen || []) {
      const more = x.at_ms.filter(inSlice).length - (this.cell.symptoms || []).filter(a => inSlice(a.at) && a.name === x.name && !!a.beyond === !!x.beyond).length;
      if (more > 0) found.push(`${more} more times ${x.name}`);
    }
    const some = list => list.slice(0, MOST_NAMED).join(', ') + (list.length > MOST_NAMED ? ` and ${list.length - MOST_NAMED} more` : '');
    const notes = (this.t.notes || []).filter(n => inSlice(n.at / 10)).map(n => n.text);
    const text = [answers || 'no answer', took, some(found), some(notes), some(faults)].filter(Boolean).join('; ');
    this.told.replaceChildren(el('b', {}, `${stamp(Math.max(0, s.from))} to ${stamp(Math.min(this.length, s.to))}`), ' ' + text);
    this.plot.setAttribute('aria-valuenow', Math.round(this.cursor));
    this.plot.setAttribute('aria-valuetext', `${stamp(this.cursor)}: ${text}`);
  }

  // toMark goes to the anomaly before or after the cursor.
  toMark(by) {
    const times = [...(this.cell.symptoms || []).map(s => s.at), ...(this.t.seen || []).flatMap(s => s.at_ms)].sort((a, b) => a - b);
    const next = by > 0 ? times.find(at => at > this.cursor) : times.filter(at => at < this.cursor).pop();
    if (next != null) this.move(next);
  }

  key(e) {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const far = e.shiftKey ? 10 : 1;
    const act = {
      ArrowRight: () => this.move(this.cursor + this.slice * far), ArrowLeft: () => this.move(this.cursor - this.slice * far), Home: () => this.move(0), End: () => this.move(this.length),
      PageDown: () => this.toMark(1), PageUp: () => this.toMark(-1), '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), '0': () => this.reset(), Enter: () => this.open(this.cursor),
    }[e.key];
    if (!act) return;
    e.preventDefault();
    e.stopPropagation(); // the viewer has some of these keys, too
    act();
  }

  // A finger or a mouse moves the cursor; one that does not move goes to the steps.
  point(e) {
    if (this.at) this.move(this.time(e.clientX - this.plot.getBoundingClientRect().left));
  }
  press(e) {
    this.pressed = e.clientX;
    this.point(e);
  }
  release(e) {
    if (this.pressed != null && Math.abs(e.clientX - this.pressed) < 5 && e.button === 0) this.open(this.cursor);
    this.pressed = null;
  }
  wheel(e) {
    if (!e.ctrlKey) return; // two fingers on a pad come as this
    e.preventDefault();
    this.zoom(e.deltaY > 0 ? 1.25 : 0.8);
  }
}

const bandWords = f => `${f.kind} of ${f.target}, ${stamp(f.from)} to ${stamp(f.to)}${f.awaits ? ', was not seen to take effect' : ''}`;
