// The matrix: which lock broke in which scenario. What is shown is what search and filters leave; all of that is in the URL.

const ROOMY = 8; // so few locks leave room for words

const matrix = {
  // init reads the index once.
  init(index) {
    Object.assign(this, {faults: []}, index);
    if (this.explored) keyNames.set('k', 'lock'); // the explorer's one key
    const need = s => s.toLowerCase();
    this.lockText = this.locks.map(l => need([l.name, l.idea, l.bug, l.source].join(' ')));
    this.scenarioText = this.scenarios.map(s => need([s.name, s.title, s.about, s.source, ...(s.faults || []), ...(s.steps || []).map(t => t.text)].join(' ')));
    this.anomalyText = this.anomalies.map(a => need(a.name + ' ' + a.meaning));
    this.groups = new Map();
    const place = new Map();
    this.items = this.cells.map((x, n) => {
      const at = place.get(x[1]) || 0; // among the cells of its scenario
      place.set(x[1], at + 1);
      return {n, at, lock: x[0], scenario: x[1], round: x[2], cls: CLASSES[x[3]], known: !!(x[4] & 1), differs: !!(x[4] & 2), storm: !!(x[4] & 4), anomalies: x.slice(5)};
    });
    for (const c of this.items) {
      const key = c.scenario + '/' + c.lock, worst = this.groups.get(key);
      if (!worst || this.sides || CLASSES.indexOf(c.cls) > CLASSES.indexOf(worst.cls)) this.groups.set(key, c);
    }
  },

  find(lock, scenario, round) {
    const l = this.locks.findIndex(x => x.name === lock), s = this.scenarios.findIndex(x => x.name === scenario);
    return round ? this.items.find(c => c.lock === l && c.scenario === s && c.round === round) : this.groups.get(s + '/' + l);
  },

  rounds(cell) { return this.items.filter(c => c.lock === cell.lock && c.scenario === cell.scenario); },

  // repairs says whether one cell is of a lock that does better than the other.
  repairs: (one, other) => (one.cls === 'safe') !== (other.cls === 'safe'),

  // others are the cells of a scenario that can stand beside a cell, the best first: the nearest lock of the registry that is safe beside a broken one, if
  // there is one that is not known to be broken elsewhere, and the other way round.
  others(cell) {
    if (this.explored || this.sides) return []; // each counterexample has steps of its own, and an old cell its new one beside it
    const place = c => this.locks[c.lock].place < 0 ? 1e3 + c.lock : this.locks[c.lock].place;
    const server = c => this.locks[c.lock].server;
    const good = cell.cls === 'safe' ? 'broken' : 'safe';
    const rank = c => {
      const distance = place(c) - place(cell);
      return (c.cls === good ? 0 : 1e6) + (good === 'safe' && this.locks[c.lock].bug ? 1e5 : 0) + (server(c) === server(cell) ? 0 : 1e4) + Math.abs(distance) * 2 + ((distance > 0) === (good === 'safe') ? 0 : 1);
    };
    return [...this.groups.values()].filter(c => c.scenario === cell.scenario && c.lock !== cell.lock && c.cls !== 'na').sort((a, b) => rank(a) - rank(b));
  },

  matches(c, q) {
    const f = this.filter;
    if (f.show === 'broken' && c.cls !== 'broken' && !(c.cls === 'surprise' && c.anomalies.length)) return false;
    if (f.show === 'surprises' && !['surprise', 'unknown', 'failed'].includes(c.cls)) return false;
    if (f.show === 'safe' && c.cls !== 'safe') return false;
    if (c.cls === 'na' && !f.na) return false;
    if (f.fault && !(this.scenarios[c.scenario].faults || []).includes(f.fault)) return false;
    if (f.server && this.locks[c.lock].server !== f.server) return false;
    return q.every(word => this.lockText[c.lock].includes(word) || this.scenarioText[c.scenario].includes(word) || c.anomalies.some(a => this.anomalyText[a].includes(word)));
  },

  // setup builds the filters from what occurs.
  setup() {
    if (this.sides) $('cells').textContent = 'What has changed: old → new';
    if (this.explored) $('cells').textContent = this.entries ? 'Breaking points: the fewest faults, and what they lead to' : 'The search';
    const fill = (id, values) => {
      const list = [...new Set(values.filter(Boolean))].sort();
      $(id).append(...list.map(v => el('option', {value: v}, v)));
      $(id).closest('label').hidden = list.length < 2;
    };
    fill('fault', this.scenarios.flatMap(s => s.faults || []));
    fill('server', this.locks.map(l => l.server));
    const changed = () => {
      const f = {q: $('q').value.trim(), show: $('show').value, fault: $('fault').value, server: $('server').value, na: $('na').checked ? '1' : ''};
      const text = new URLSearchParams(Object.entries(f).filter(([, v]) => v)).toString();
      history.replaceState(null, '', '#' + text);
      this.show(text);
    };
    for (const id of ['q', 'show', 'fault', 'server', 'na']) $(id).addEventListener('input', changed);
    $('grid').addEventListener('keydown', e => this.move(e));
    const tell = e => { const a = e.target.closest && e.target.closest('a[data-words]'); if (a) $('about-cell').textContent = a.dataset.words; };
    for (const event of ['mouseover', 'focusin']) for (const id of ['grid', 'apart']) $(id).addEventListener(event, tell);
  },

  // show draws the matrix for a state of the URL.
  show(text) {
    const params = new URLSearchParams(text);
    this.filter = Object.fromEntries(['q', 'show', 'fault', 'server', 'na'].map(k => [k, params.get(k) || '']));
    for (const id of ['q', 'show', 'fault', 'server']) if ($(id).value !== this.filter[id]) $(id).value = this.filter[id];
    $('na').checked = !!this.filter.na;
    if (this.drawn === text) return;
    this.drawn = text;
    const q = this.filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = [...this.groups.values()].filter(c => this.matches(c, q));
    const apart = shown.filter(c => this.locks[c.lock].apart), inTable = shown.filter(c => !this.locks[c.lock].apart);
    const locks = this.locks.map((_, n) => n).filter(n => inTable.some(c => c.lock === n));
    const rows = this.scenarios.map((_, n) => n).filter(n => inTable.some(c => c.scenario === n));
    const visible = new Set(inTable);
    $('grid').replaceChildren(this.table(locks, rows, visible));
    $('apart').replaceChildren(...(apart.length ? [el('h3', {}, 'Single bugs'), el('p.soft', {}, 'Published locks with chosen bugs only, each in the scenarios that are about them.'), el('ul.singles', {}, apart.map(c => el('li', {}, this.link(c, 'named'))))] : []));
    const hidden = this.groups.size - shown.length;
    $('shown').textContent = plural(shown.length, 'cell', 'cells') + (hidden ? ` of ${this.groups.size}` : '') + `: ${rows.length} × ${locks.length}`;
    this.legend(shown);
    $('about-cell').textContent = shown.length ? 'Point at a cell, or go there by the arrow keys.' : 'Nothing matches. Take a word or a filter away.';
    const first = $('grid').querySelector('td a');
    if (first) first.tabIndex = 0;
  },

  table(locks, rows, visible) {
    const roomy = this.roomy = locks.length <= ROOMY && innerWidth >= 900;
    const head = el('thead', {}, el('tr', {}, el('th.corner', {scope: 'col'}, this.explored ? 'faults \\ lock' : 'scenario \\ lock'), locks.map(n => el('th', {scope: 'col', title: this.locks[n].idea || ''}, el('span', {}, this.locks[n].name)))));
    const body = el('tbody', {}, rows.map(s => el('tr', {}, el('th', {scope: 'row'}, el('b', {}, this.scenarios[s].name), el('small', {}, this.scenarios[s].title || '')), locks.map(l => {
      const c = this.groups.get(s + '/' + l);
      return c && visible.has(c) ? el('td.' + c.cls, {}, this.link(c, roomy ? 'roomy' : '')) : el('td');
    }))));
    return el('table' + (roomy ? '.roomy' : ''), {}, el('caption.hidden', {}, 'Scenarios by locks'), head, body);
  },

  // link is a cell: letters of its anomalies, and all of it in words for those who do not see it.
  link(c, how) {
    const lock = this.locks[c.lock].name, scenario = this.scenarios[c.scenario];
    const list = c.anomalies.map(a => this.anomalies[a].name), names = list.join(', ');
    const label = `${lock} in ${scenario.name}: ${CLASS_WORDS[c.cls]}${names ? ', ' + names : ''}${c.differs ? '; rounds differ' : ''}${entryWords(this, c)}`;
    let text = c.anomalies.map(a => this.anomalies[a].letter).join('') || {safe: '✓', na: '–', unknown: '?', surprise: '✓', failed: '×'}[c.cls];
    if (c.cls === 'surprise') text = '!' + text;
    if (text.length > 5) text = text.slice(0, 4) + '…';
    const entry = this.entries && this.entries[c.scenario + '/' + c.lock];
    if (entry) text = entry[0];
    else if (how === 'roomy') text = [c.cls === 'surprise' ? 'SURPRISE ' : '', list.length ? list.map((name, n) => [el('span.anomaly', {}, name + (n < list.length - 1 ? ',' : '')), ' ']) : CLASS_WORDS[c.cls === 'surprise' ? 'safe' : c.cls]];
    const named = how === 'named';
    const attrs = {class: text.length > 3 && how !== 'roomy' ? 'long' : null, href: hrefOf(lock, scenario.name), 'data-words': label, tabindex: named ? 0 : -1};
    return el('a', attrs, named ? `${lock} / ${scenario.name} ` : '', named ? el('b.tag.' + c.cls, {}, names || CLASS_WORDS[c.cls]) : [el('span', {'aria-hidden': 'true'}, text, c.differs ? '≠' : ''), el('span.hidden', {}, label)]);
  },

  legend(shown) {
    if (this.sides) shown = shown.flatMap(c => this.rounds(c));
    const seen = this.anomalies.filter((_, n) => shown.some(c => c.anomalies.includes(n))), words = this.roomy && !this.entries;
    $('legend').replaceChildren(...seen.map(a => el('li', {title: a.why}, words ? '' : [el('b', {}, a.letter), ' '], el(words ? 'b' : 'span', {}, a.name), `: ${a.meaning}`)), words ? '' : el('li', {}, el('b', {}, '✓'), ' safe; ', el('b', {}, '–'), ' n/a; ', el('b', {}, '?'), ' unknown; ', el('b', {}, '!'), ' not as expected'), ...entryLegend(this));
  },

  // move goes from cell to cell by the arrow keys.
  move(e) {
    const at = document.activeElement.closest('td');
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
    if (!at || !step) return;
    e.preventDefault();
    let row = at.parentNode, column = at.cellIndex, next;
    do {
      column += step[1];
      row = step[0] < 0 ? row.previousElementSibling : step[0] > 0 ? row.nextElementSibling : row;
      next = row && row.cells[column];
    } while (next && column > 0 && !next.firstChild);
    const link = next && next.querySelector('a');
    if (!link) return;
    document.activeElement.tabIndex = -1;
    link.tabIndex = 0;
    link.focus();
    link.scrollIntoView({block: 'nearest', inline: 'nearest'});
  },
};

// hrefOf is the place of a cell, of a step of it, and of what stands beside it.
function hrefOf(lock, scenario, {step, beside, round, hide} = {}) {
  const query = new URLSearchParams(Object.entries({beside, round, hide}).filter(([, v]) => v)).toString();
  return '#/' + encodeURIComponent(scenario) + '/' + encodeURIComponent(lock) + (step ? '/' + step : '') + (query ? '?' + query : '');
}
