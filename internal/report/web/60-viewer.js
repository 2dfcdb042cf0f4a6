// The viewer: one cell or two, a step at a time.

const ALONE = '-'; // in the URL: nothing stands beside the cell

const viewer = {
  state: null, // what the URL says
  columns: [], // of one cell or two: {item, cell, h}

  // open shows the cells that the URL names.
  async open(state) {
    const item = matrix.find(state.lock, state.scenario, state.round);
    if (!item) return this.missing(state);
    const others = item.storm ? [] : matrix.others(item); // the steps of two storms have nothing in common
    if (state.beside === undefined) state.beside = innerWidth >= 900 && others.length && item.cls !== 'na' && matrix.repairs(item, others[0]) ? matrix.locks[others[0].lock].name : ALONE;
    const beside = others.find(c => matrix.locks[c.lock].name === state.beside);
    const cells = await unpack('cells-' + item.scenario);
    const shown = matrix.sides ? matrix.rounds(item) : [item, beside].filter(Boolean);
    const part = await storms.part(item, cells[item.at], state.step);
    unpacked.sourceTexts = await unpack('sources');
    const known = this.columns.length === shown.length && this.columns.every((c, n) => c.item === shown[n]);
    const same = known && (!part || this.columns[0].h === part);
    this.state = state;
    if (!same) {
      this.columns = shown.map(c => {
        const cell = cells[c.at];
        return {item: c, cell, lock: sideOf(c), h: part || cell.history && (cell.read = cell.read || readHistory(cell.history)), marks: marksOf(cell)};
      });
      this.frames = framesOf(this.columns.map(c => c.h), this.columns.map(c => new Map(c.marks)));
      if (!known) this.build(item, others);
    }
    const at = this.frames.findIndex(f => f.key === state.step || state.step && f.columns.some(c => c && [...c.head, ...c.tail].some(s => s.key === state.step)));
    this.at = at >= 0 ? at : part ? frameAt(this.frames, 0, state.step ? state.step - 1 : firstPlace(cells[item.at])) : this.deciding();
    this.draw();
    if (!same) this.drawFilms();
  },

  // again leads to where the lab can run the cell anew, if the page is served by it and both are the lab's own.
  again(lock, scenario) {
    const home = document.documentElement.dataset.home;
    return home && scenario.steps && lock.place >= 0 ? el('a', {href: home + '?' + new URLSearchParams({scenario: scenario.name, lock: lock.name})}, 'Run again') : '';
  },

  missing(state) {
    this.columns = [];
    $('cell').replaceChildren(el('p', {}, el('a', {href: '#'}, '← All cells')), el('h1', {}, 'No such cell'), el('p', {}, `This run has no cell ${state.lock} / ${state.scenario}.`));
  },

  // deciding is the frame in which the cause happens.
  deciding() {
    if (this.state.hide) return 0;
    for (const [n, {cell, h}] of this.columns.entries()) {
      const cause = (cell.symptoms || []).find(s => s.follows < 0);
      if (cause && h) return frameAt(this.frames, n, Math.max(0, ...cause.events));
    }
    return 0;
  },

  // build makes what does not change from step to step.
  build(item, others) {
    const lock = matrix.locks[item.lock], scenario = this.scenario = scriptFor(matrix.scenarios[item.scenario], this.columns[0].h);
    document.title = `${lock.name} / ${scenario.name}: Lock Lab`;
    const pick = el('select', {id: 'beside', oninput: e => this.go({beside: e.target.value})}, el('option', {value: ALONE}, 'no other lock'), others.map(c => el('option', {value: matrix.locks[c.lock].name, selected: this.columns[1] && this.columns[1].item === c}, `${matrix.locks[c.lock].name} (${CLASS_WORDS[c.cls]})`)));
    const rounds = matrix.rounds(item);
    const round = rounds.length > 1 && !matrix.sides && el('label', {}, matrix.explored ? 'counterexample ' : 'round ', el('select', {oninput: e => this.go({round: +e.target.value})}, rounds.map(c => el('option', {value: c.round, selected: c === item}, `${c.round}: ${CLASS_WORDS[c.cls]}`))));
    const hide = item.storm ? '' : el('label', {}, el('input', {type: 'checkbox', id: 'hide', checked: !!this.state.hide, oninput: e => this.go({hide: e.target.checked ? '1' : ''})}), ' hide the verdict until it happens');
    $('cell').replaceChildren(
      el('nav.bar', {'aria-label': 'Cell'}, el('a', {href: '#' + (matrix.drawn || ''), id: 'back'}, '← All cells'), others.length ? el('label', {}, 'beside ', pick) : '', round || '', hide, this.again(lock, scenario)),
      el('header.story', {}, el('h1', {}, scenario.title || scenario.name), el('p', {}, scenario.about || '', scenario.source ? el('span.soft', {}, ` (${scenario.source})`) : ''), explained(scenario)),
      el('div.heads', {id: 'heads'}),
      el('section.player', {id: 'player', 'aria-label': 'Step by step'},
        el('div.controls', {}, el('button', {type: 'button', id: 'prev', 'aria-label': 'Step back', onclick: () => this.step(-1)}, '◀'), el('button', {type: 'button', id: 'next', 'aria-label': 'Next step', onclick: () => this.step(1)}, '▶'), el('button', {type: 'button', id: 'play', 'aria-pressed': 'false', onclick: () => this.play()}, 'play'), el('output', {id: 'now', 'aria-live': 'polite'}), el('span.hint.soft', {}, this.columns.length > 1 ? `above: ${this.columns[0].lock.name}; below: ${this.columns[1].lock.name}; ` : '', this.frames.some(f => f.columns.some(c => c && c.two)) ? 'red: more clients hold than may; ' : '', '← → step, space plays, Esc goes back')),
        el('div.strip', {id: 'strip'}), el('div.stage', {id: 'stage'})),
      el('section.films', {'aria-label': 'Film strip'}, el('h2', {}, 'Film strip'), el('div.film-columns', {id: 'films'}, this.columns.map((c, n) => el('div.film', {id: 'film-' + n, tabindex: 0, role: 'region', 'aria-label': 'Film strip of ' + c.lock.name})))));
    if (!this.frames.length) $('player').hidden = true;
    this.swipe($('stage'));
    storms.build(this);
  },

  drawFilms() {
    this.columns.forEach((c, n) => {
      if (c.h) film($('film-' + n), c.h, this.frames, n, c.marks, to => this.to(to));
      else $('film-' + n).replaceChildren(el('p.soft', {}, 'There are no steps. ' + (c.cell.trouble || '')));
    });
    this.markFilms();
  },

  // go changes what the URL says; the page follows.
  go(change) {
    const s = {...this.state, ...change};
    location.hash = hrefOf(s.lock, s.scenario, s);
  },
  to(n) {
    this.at = Math.max(0, Math.min(this.frames.length - 1, n));
    this.state.step = this.frames[this.at].key;
    const s = this.state;
    history.replaceState(null, '', hrefOf(s.lock, s.scenario, s));
    this.draw();
  },
  toEvent(column, event) {
    if (this.columns[column].item.storm) this.go({step: String(event + 1)});
    else this.to(frameAt(this.frames, column, event));
  },
  step(by) { if (!storms.beyond(this, by)) this.to(this.at + by); },
  play() {
    if (this.playing) { clearInterval(this.playing); this.playing = 0; }
    else {
      if (this.at === this.frames.length - 1) this.to(0);
      this.playing = setInterval(() => this.at < this.frames.length - 1 ? this.step(1) : this.play(), 1200);
    }
    const button = $('play');
    if (button) { button.textContent = this.playing ? 'stop' : 'play'; button.setAttribute('aria-pressed', String(!!this.playing)); }
  },

  key(e) {
    if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest('select,input')) return;
    const button = e.target.closest('button,a,summary,.film');
    const act = {ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => this.to(0), End: () => this.to(this.frames.length - 1), ' ': button ? null : () => this.play(), Escape: () => { location.hash = '#' + (matrix.drawn || ''); }}[e.key];
    if (!act || !this.frames.length && e.key !== 'Escape') return;
    e.preventDefault();
    act();
  },

  swipe(stage) {
    let from = null;
    stage.addEventListener('touchstart', e => { from = e.touches[0]; }, {passive: true});
    stage.addEventListener('touchend', e => {
      const to = e.changedTouches[0], x = to.clientX - from.clientX, y = to.clientY - from.clientY;
      if (Math.abs(x) > 50 && Math.abs(x) > 2 * Math.abs(y)) this.step(x < 0 ? 1 : -1);
    }, {passive: true});
  },

  // draw shows the present step.
  draw() {
    $('heads').replaceChildren(...this.columns.map((c, n) => headOf(c, n, this)));
    $('heads').classList.toggle('two', this.columns.length > 1);
    if (!this.frames.length) return;
    const frame = this.frames[this.at];
    $('now').replaceChildren(el('b', {}, `${this.at + 1} / ${this.frames.length}`), el('code', {}, frame.text), frame.times > 1 ? el('span.tag', {}, '× ' + frame.times) : '');
    $('prev').disabled = this.at === 0;
    $('next').disabled = this.at === this.frames.length - 1;
    this.drawStrip();
    $('stage').replaceChildren(script(this.scenario, frame, this), ...this.columns.map((c, n) => stageOf(c, frame, n, this)));
    $('stage').classList.toggle('two', this.columns.length > 1);
    this.markFilms();
    storms.mark(this);
    showLines();
  },

  drawStrip() {
    $('strip').replaceChildren(...this.frames.map((f, n) => {
      const hidden = this.state.hide && n > this.at;
      const two = !hidden && f.columns.map((c, i) => c && c.two ? this.columns[i].lock.name : '').filter(Boolean);
      const bars = f.columns.map((c, i) => el('i' + (!c ? '.gone' : c.two && !hidden ? '.two' : n <= this.at ? '.done' : ''), {}));
      return el('button' + (n === this.at ? '.now' : ''), {type: 'button', 'aria-label': `step ${n + 1}: ${f.text}${two && two.length ? ', two clients believe that they hold: ' + two.join(', ') : ''}`, 'aria-current': n === this.at ? 'step' : null, title: f.text, onclick: () => this.to(n)}, bars);
    }));
  },

  markFilms() {
    for (const section of document.querySelectorAll('.film section')) section.classList.toggle('now', +section.dataset.frame === this.at);
  },

  // happened says whether what shows a symptom lies in what was gone through.
  happened(c, n, symptom) {
    if (!this.state.hide || !c.h || !this.frames.length) return true;
    const reached = this.frames.slice(0, this.at + 1).map(f => f.columns[n]).filter(Boolean).pop();
    return !!reached && Math.max(0, ...symptom.events) <= reached.pos || this.at === this.frames.length - 1;
  },
};

// scriptFor is the scenario with what its script says, unless the history is of another script of that name.
function scriptFor(scenario, h) {
  const texts = new Map((scenario.steps || []).map(s => [s.line, clean(s.text)]));
  const other = texts.size && h && h.steps.some(s => s.line && texts.get(s.line) !== s.text);
  return other ? {name: scenario.name} : scenario;
}

// marksOf are the numbers of the symptoms that each event shows.
function marksOf(cell) {
  const marks = new Map();
  (cell.symptoms || []).forEach((s, n) => s.events.forEach(i => marks.set(i, [...(marks.get(i) || []), n + 1])));
  return marks;
}

// headOf is the head of a cell: what the lock is, what was found, and what follows from what.
function headOf(c, n, v) {
  const symptoms = c.cell.symptoms || [], seen = symptoms.map(s => v.happened(c, n, s));
  const told = !v.state.hide || v.at === v.frames.length - 1 || seen.length > 0 && seen.every(Boolean);
  const alike = new Map(); // symptoms of one kind that follow from the same one
  symptoms.forEach((s, i) => {
    const key = s.name + s.follows;
    if (seen[i]) alike.set(key, [...(alike.get(key) || []), {...s, number: i + 1}]);
  });
  const list = [...alike.values()].map(all => el('li', {}, el('details', {}, el('summary', {}, all.map(s => [el('b.flag', {}, String(s.number)), ' ']), el('b', {}, all[0].name), el('span.soft', {}, all[0].follows < 0 ? ' the cause' : ` follows from ${all[0].follows + 1}`)),
    reasonOf(all[0].name),
    all.map(s => el('p', {}, el('b.flag', {}, String(s.number)), ' ', s.why, ' ', c.h && el('button', {type: 'button', onclick: () => v.toEvent(n, Math.max(0, ...s.events))}, 'go to ' + stamp(s.at)))))));
  const cell = c.cell;
  return el('article.head.' + c.item.cls, {},
    el('h2', {}, el('span', {}, c.lock.name), ' ', el('b.tag.' + (told ? c.item.cls : 'na'), {}, told ? CLASS_WORDS[c.item.cls] : 'what happens next?'), told ? extras(c) : ''),
    el('p.idea', {}, c.lock.idea || ''),
    told && n === 0 ? el('p.soft', {}, whoIsSafe(c.item)) : '',
    c.lock.bug && told ? el('p.bug', {}, el('b', {}, c.item.cls === 'safe' ? 'Its known bug does not show here: ' : 'Known bug: '), c.lock.bug) : '',
    told ? el('p.verdict', {}, c.item.cls !== 'safe' ? cell.finding : matrix.explored ? 'It holds within the bounds of the search.' : 'Safe: nothing went wrong.') : '',
    told && cell.breaks ? el('p', {}, 'It breaks the promise ', el('b', {}, cell.breaks), '.') : '',
    c.item.storm && list.length ? storms.list(symptoms, list) : list.length ? el('ol.symptoms', {}, list) : '');
}

// whoIsSafe says of a broken cell whether any lock would have done better, unless one stands to choose that is known to have no bug.
function whoIsSafe(item) {
  if (item.cls !== 'broken' || item.storm || matrix.explored || matrix.sides) return '';
  const safe = matrix.others(item).filter(o => o.cls === 'safe');
  if (!safe.length) return 'No lock of this run is safe in this scenario.';
  return safe.every(o => matrix.locks[o.lock].bug) ? 'Only locks that have bugs of their own are safe in this scenario.' : '';
}

// extras is what is known of a cell besides.
function extras(c) {
  const cell = c.cell, rows = [];
    if (cell.outcome) rows.push(cell.outcome);
  else if (c.item.cls === 'broken') rows.push('as expected');
  for (const text of [cell.storm, cell.data, cell.trouble, ...(cell.stalls || []).map(s => 'tried again at half speed: ' + s)]) if (text) rows.push(text);
  const left = c.h && !c.item.storm ? c.h.events.reduce((sum, e) => sum + (e.count || 0), 0) : 0;
  if (left) rows.push(`${plural(left, 'event is', 'events are')} left out here`);
  return el('span.soft', {}, rows.join('; '), rows.length && cell.where ? '; ' : '', cell.where ? el('a', {href: encodeURI(cell.where)}, 'history') : '');
}

// script is the scenario's script with the present line.
function script(scenario, frame, v) {
  const steps = scenario.steps || v.frames.flatMap(f => f.columns.find(Boolean).head.map(s => ({line: s.line, text: s.text})));
  const lines = steps.filter((s, n) => s.line && steps.findIndex(o => o.line === s.line) === n);
  if (!lines.length) return '';
  const list = el('ol', {}, lines.map(s => el('li' + (frame.lines.includes(s.line) ? '.now' : ''), {'aria-current': frame.lines.includes(s.line) ? 'step' : null}, el('button', {type: 'button', onclick: () => { const n = v.frames.findIndex(f => f.lines.includes(s.line)); if (n >= 0) v.to(n); }}, s.text))));
  return el('details.script', {open: innerWidth >= 900}, el('summary', {}, scenario.list || 'Script'), list, lines.some(s => s.text.includes('=>')) ? el('p.soft', {}, 'After => stands the result that a step must have. A request on hold waits on the wire until its client continues, or it arrives late.') : '');
}
