// The result: what was found, the stage of the present step, the film strip, and the lock's source. The viewer draws it, for one lock or two.

const result = {
  columns: [], // {lock, cell, h, marks}
  frames: [],
  at: 0,
  state: {}, // nothing is hidden
  happened: () => true,

  // show draws cells, at their last step or at their cause.
  show(cells, last) {
    this.columns = cells.map(({lock, cell}) => ({lock, cell, h: readHistory(cell.history), marks: marksOf(cell)}));
    this.frames = framesOf(this.columns.map(c => c.h), this.columns.map(c => new Map(c.marks)));
    this.at = last ? this.frames.length - 1 : this.cause();
    $('result').hidden = false;
    $('heads').replaceChildren(...this.columns.map(headOfCell));
    $('heads').classList.toggle('two', this.columns.length > 1);
    $('stage').classList.toggle('two', this.columns.length > 1);
    $('player').hidden = !this.frames.length;
    $('films').replaceChildren(...this.columns.map((c, n) => el('div.film', {id: 'film-' + n, tabindex: 0, role: 'region', 'aria-label': 'Film strip of ' + c.lock.name})));
    this.draw();
    this.drawFilms();
  },

  // cause is the frame in which the cause happens.
  cause() {
    const cause = (this.columns[0].cell.symptoms || []).find(s => s.follows < 0);
    return cause ? frameAt(this.frames, 0, Math.max(0, ...cause.events)) : 0;
  },

  to(n) {
    this.at = Math.max(0, Math.min(this.frames.length - 1, n));
    this.draw();
    drawNext();
  },

  step(by) { this.to(this.at + by); },

  draw() {
    const frame = this.frames[this.at];
    if (!frame) return;
    $('now').replaceChildren(el('b', {}, `${this.at + 1} / ${this.frames.length}`), el('code', {}, frame.text), frame.times > 1 ? el('span.tag', {}, '× ' + frame.times) : '');
    $('prev').disabled = this.at === 0;
    $('later').disabled = this.at === this.frames.length - 1;
    $('stage').replaceChildren(script({list: page.state.mode === 'walk' ? 'Steps so far' : 'Script'}, frame, this), ...this.columns.map((c, n) => stageOf(c, frame, n, this)));
    this.mark();
  },

  drawFilms() {
    this.columns.forEach((c, n) => film($('film-' + n), c.h, this.frames, n, c.marks, to => this.to(to)));
    this.mark();
  },

  mark() { for (const section of document.querySelectorAll('.film section')) section.classList.toggle('now', +section.dataset.frame === this.at); },
};

const classOf = kind => kind === 'n/a' ? 'na' : kind;

// headOfCell says what was found.
function headOfCell(c) {
  const walks = page.state.mode === 'walk' && !c.cell.ended && c.cell.kind === 'safe';
  const cls = walks ? 'na' : classOf(c.cell.kind), safe = walks ? 'Nothing has gone wrong so far.' : 'Safe: nothing went wrong.';
  const list = (c.cell.symptoms || []).map((s, n) => el('li', {}, el('details', {}, el('summary', {}, el('b.flag', {}, String(n + 1)), ' ', el('b', {}, s.name), el('span.soft', {}, s.follows < 0 ? ' the cause' : ` follows from ${s.follows + 1}`)),
    el('p', {}, s.why), el('p.soft', {}, (page.anomalies.get(s.name) || '')))));
  return el('article.head.' + cls, {},
    el('h2', {}, c.lock.name, ' ', el('b.tag.' + cls, {}, walks ? 'so far' : CLASS_WORDS[cls])),
    el('p.idea', {}, c.lock.idea || ''),
    c.lock.bug && cls === 'broken' ? el('p.bug', {}, el('b', {}, 'Known bug: '), c.lock.bug) : '',
    el('p.verdict', {}, c.cell.kind === 'safe' ? safe : c.cell.finding),
    list.length ? el('ol.symptoms', {}, list) : '');
}

// drawCode shows the sources of locks, with the lines at which their clients wait after the last step. Of earlier steps, and of scripts, no lines are known.
async function drawCode(list) {
  const sources = await unpack('sources'), names = list.map(({lock}) => lock.name).join(' ');
  if ($('code').dataset.locks !== names) { // from step to step only the marks move
    $('code').dataset.locks = names;
    $('code').replaceChildren(el('div.codes', {}, list.map(({lock}) => {
      const text = (sources[lock.file] || '').replace(/\n$/, '').split('\n');
      return el('div', {}, el('h2', {}, `${lock.name}: impls/${lock.file}`), el('p.soft', {}, lock.bug ? 'The bug: ' + lock.bug : lock.idea, lock.source ? ` (${lock.source})` : ''),
        el('div.source', {tabindex: 0, role: 'region', 'aria-label': 'Source of ' + lock.name}, text.map((t, n) => el('div', {}, el('i', {}, String(n + 1)), el('code', {}, t || ' '), el('span')))));
    })));
  }
  document.querySelectorAll('#code .source').forEach((source, n) => {
    const {lock, sites} = list[n], rows = [...source.children];
    for (const row of source.querySelectorAll('.runs')) { row.className = ''; row.lastChild.replaceChildren(); }
    (sites || []).forEach((all, client) => (all || []).forEach(site => {
      const [file, line] = site.split(':'), row = file === lock.file && rows[line - 1];
      if (!row) return;
      row.className = 'runs';
      row.lastChild.append(el('b.chip.c' + client % 6, {}, 'C' + (client + 1)));
    }));
    const runs = source.querySelector('.runs') || rows.slice(lock.line).find(row => /\) TryAcquire\(/.test(row.textContent));
    if (runs) source.scrollTop = runs.offsetTop - source.offsetTop - source.clientHeight / 2;
  });
}
