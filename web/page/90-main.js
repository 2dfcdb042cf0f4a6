// The page as a whole: what is picked, what is asked of the lab, and what is shown.

const MODES = ['walk', 'play', 'read'];

const page = {
  state: blank(),
  place: null, // where the walk is
  turn: 0, // of the latest question; answers to earlier ones are not shown

  lock(name) { return this.locks.get(name); },

  // open shows what the URL has.
  async open() {
    this.state = await stateOf(location.hash);
    await this.show();
  },

  // go changes the state, and shows what comes of it.
  async go(change) {
    Object.assign(this.state, change, {damaged: ''});
    await this.share();
    await this.show();
  },

  // share writes the state into the URL.
  async share() { history.replaceState(null, '', await hashOf(this.state)); },

  setup() {
    const s = this.state, lock = this.lock(s.lock);
    const faults = s.faults ? s.faults.filter(k => (lock.faults || []).includes(k)) : lock.faults || [];
    return {lock: s.lock, clients: s.clients, rounds: s.rounds, most: s.most, faults};
  },

  // draw shows what is picked.
  draw() {
    const s = this.state;
    if (!this.lock(s.lock)) { trouble(`There is no lock ${s.lock}.`); s.lock = blank().lock; }
    document.body.className = 'in-' + s.mode;
    for (const mode of MODES) $('mode-' + mode).setAttribute('aria-pressed', String(s.mode === mode));
    course.turn(s);
    const offered = [...this.locks.values()].filter(l => s.mode === 'play' || l.walked);
    if (!offered.includes(this.lock(s.lock))) s.lock = blank().lock;
    options('lock', offered.map(l => [l.name, l.name]), s.lock);
    options('beside', [[ALONE_HERE, 'no other lock'], ...offered.filter(l => l.name !== s.lock).map(l => [l.name, l.name])], s.beside);
    for (const key of ['clients', 'rounds', 'most']) $(key).value = s[key];
    const lock = this.lock(s.lock), on = this.setup().faults;
    if ($('faults').dataset.lock !== s.lock) {
      $('faults').dataset.lock = s.lock;
      $('faults').replaceChildren(...(lock.faults || []).map(kind => el('label', {title: this.faults.get(kind)}, el('input', {type: 'checkbox', value: kind, onchange: () => this.pickFaults()}), ' ' + kind)));
    }
    for (const box of $('faults').querySelectorAll('input')) box.checked = on.includes(box.value);
    options('scenario', this.scenarios.map(x => [x.name, x.name]).concat(s.script === null ? [] : [['', 'edited']]), s.script === null ? s.scenario : '');
    const scenario = this.scenarios.find(x => x.name === s.scenario);
    $('about').textContent = (lock.idea || '') + (s.mode === 'play' && s.script === null && scenario ? '. ' + scenario.title : '');
    if (s.mode === 'play') editor.set(s.script === null ? scenario ? scenario.text : '' : s.script);
    $('undo').disabled = $('restart').disabled = !s.choices.length;
  },

  pickFaults() { this.go({faults: [...$('faults').querySelectorAll('input:checked')].map(i => i.value), choices: []}); },

  // show asks the lab what the state comes to.
  async show() {
    const turn = ++this.turn;
    trouble(this.state.damaged || '');
    this.draw();
    if (this.state.mode === 'read') return course.show(this.state);
    if (this.state.mode === 'play') return this.play(turn);
    const s = this.state, question = {do: 'walk', setup: this.setup(), choices: s.choices};
    const answers = [await lab.ask(question), s.beside && await lab.ask({...question, do: 'beside', other: s.beside})].filter(Boolean);
    if (turn === this.turn) this.present(answers, true);
  },

  async play(turn = ++this.turn) {
    const s = this.state, text = $('script').value;
    const answers = [];
    for (const lock of [s.lock, s.beside].filter(Boolean)) answers.push(await lab.ask({do: 'play', lock, script: text}));
    if (turn !== this.turn) return;
    if (answers[0].wrong) {
      editor.complain(answers[0].wrong);
      $('result').hidden = true;
      $('status').textContent = 'The script cannot be read: see the marked lines.';
      return;
    }
    editor.complain([]);
    this.present(answers, false);
  },

  // present shows answers: one, and that of the lock beside it.
  present(answers, walks) {
    const wrong = answers.find(a => a.error);
    if (wrong) {
      trouble(wrong.error + (walks && this.state.choices.length ? '. Start again, or take a step back.' : ''));
      $('result').hidden = true;
      return;
    }
    this.place = walks ? answers[0] : null;
    const locks = [this.state.lock, this.state.beside].filter(Boolean).map(name => this.lock(name));
    $('status').textContent = '';
    result.show(answers.map((cell, n) => ({lock: locks[n], cell})), walks);
    drawNext();
    drawCode(answers.map((a, n) => ({lock: locks[n], sites: a.sites})));
  },

  // search looks for the shortest break, and walks to it if that is asked for.
  async search(walks) {
    const turn = ++this.turn;
    busy(true);
    const found = await lab.ask({do: 'search', setup: this.setup()});
    busy(false);
    if (turn !== this.turn) return;
    $('status').textContent = verdictOf(found);
    if (walks && found.choices) {
      await this.go({choices: found.choices});
      $('status').textContent = verdictOf(found);
    }
  },
};

// verdictOf is what a search came to, in words.
function verdictOf(f) {
  if (f.error) return f.error.includes('context canceled') ? 'The search was stopped. It says nothing of what it has not seen.' : f.error;
  const searched = `${f.states.toLocaleString('en')} states, ${f.within}`;
  if (f.choices && !f.excused) return `Yes: ${f.names.join(', ')}, in ${plural(f.choices.length, 'step', 'steps')}; none with fewer faults, nor with as many and fewer steps (${searched}).`;
  const excused = f.choices ? ` The lock may show ${f.names.join(', ')}, which breaks none of its promises.` : '';
  if (f.limit) return `Not known: ${f.limit} (${searched}).` + excused;
  return `No: it holds within these bounds (${searched}).${excused} Assumed: ${(f.assumes || []).join('; ')}.`;
}

function busy(on) {
  $('stop').hidden = !on;
  for (const id of ['shortest', 'any']) $(id).disabled = on;
  if (on) $('status').textContent = 'Searching …';
}

function searching(p) { if (!$('stop').hidden) $('status').textContent = `Searching: ${p.progress.toLocaleString('en')} states, ${plural(p.faults, 'fault', 'faults')}, ${plural(p.steps, 'step', 'steps')} …`; }

// options fills a select, if it has others.
function options(id, list, value) {
  const key = JSON.stringify(list);
  if ($(id).dataset.key !== key) {
    $(id).replaceChildren(...list.map(([v, text]) => el('option', {value: v}, text)));
    $(id).dataset.key = key;
  }
  $(id).value = value;
}

function listen() {
  const on = (id, event, act) => $(id).addEventListener(event, act);
  for (const mode of MODES) on('mode-' + mode, 'click', () => page.go({mode}));
  on('lock', 'input', e => page.go({lock: e.target.value, choices: [], beside: e.target.value === page.state.beside ? ALONE_HERE : page.state.beside}));
  on('beside', 'input', e => page.go({beside: e.target.value}));
  for (const key of ['clients', 'rounds', 'most']) on(key, 'input', e => page.go({[key]: +e.target.value, choices: []}));
  on('scenario', 'input', e => page.go({scenario: e.target.value, script: null}));
  on('play-script', 'click', () => page.play());
  on('undo', 'click', () => page.go({choices: page.state.choices.slice(0, -1)}));
  on('restart', 'click', () => page.go({choices: []}));
  on('shortest', 'click', () => page.search(true));
  on('any', 'click', () => page.search(false));
  on('stop', 'click', () => lab.stop());
  on('share', 'click', share);
  on('chapter', 'input', e => { location.hash = course.place(e.target.value); });
  on('prev', 'click', () => result.step(-1));
  on('later', 'click', () => result.step(1));
  viewer.swipe.call(result, $('stage'));
  addEventListener('keydown', key);
  addEventListener('hashchange', () => page.open());
  let waiting = 0;
  addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => result.drawFilms()); });
}

function key(e) {
  if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest('select,input,textarea') || $('result').hidden || page.state.mode === 'read') return;
  const act = {ArrowLeft: () => result.step(-1), ArrowRight: () => result.step(1), Backspace: () => { if (!$('undo').disabled && page.state.mode === 'walk') $('undo').click(); }}[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}

// share copies the link. A page from a file may not, and then its address bar has it.
async function share() {
  await page.share();
  try {
    await navigator.clipboard.writeText(location.href);
    $('status').textContent = 'The link is copied.';
  } catch {
    $('status').textContent = 'The link is in the address bar.';
  }
}

async function main() {
  looks.init(() => result.drawFilms());
  await lab.start();
  const all = await lab.ask({do: 'catalogue'});
  page.locks = new Map(all.locks.map(l => [l.name, l]));
  page.faults = new Map(all.faults.map(f => [f.kind, `${f.does}. ${f.why}`]));
  page.anomalies = new Map(all.anomalies.map(a => [a.name, `${a.meaning}. ${a.why}`]));
  page.scenarios = all.scenarios;
  keyNames.set('k', 'lock'); // the explorer's one key
  await course.init();
  editor.init();
  listen();
  await page.open();
  document.documentElement.dataset.ready = '1';
  performance.mark('ready');
}
