// The page of all runs: it has the lab run something, and follows what is run.

const MOST_ENDED = 200; // cells that ended, in the list of a run that goes on

const orders = {
  // order sends one to the lab. What is wrong with it is shown.
  async order(path, body) {
    this.problem('');
    try {
      const answer = await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
      if (!answer.ok) this.problem((await answer.text()).trim());
      return answer.ok;
    } catch {
      this.problem('The lab does not answer. Does lab serve still run?');
    }
    return false;
  },

  problem(text) {
    $('problem').textContent = text.replace(/\n {4}/g, ' '); // folded for terminals
    $('problem').hidden = !text;
  },

  // send has the lab run what a form says.
  async send(kind, form) {
    this.busy(true);
    if (await this.order('start', {kind, ...Object.fromEntries(new FormData(form))})) live.follow(); else this.busy(false);
  },

  busy(on) { for (const button of document.querySelectorAll('.go')) button.disabled = on; },

  // about says what is chosen.
  about(list, name, into) {
    const option = [...$(list).options].find(o => o.value === name);
    $(into).textContent = option ? option.textContent : '';
  },

  init() {
    const form = $('scenario-form'), told = () => {
      this.about('scenarios', form.scenario.value, 'about-scenario');
      this.about('ideas', form.lock.value, 'about-lock');
    };
    for (const [key, value] of new URLSearchParams(location.search)) if (form.elements[key]) form.elements[key].value = value;
    form.addEventListener('input', told);
    told();
    for (const kind of ['scenario', 'storm']) $(kind + '-form').addEventListener('submit', e => { e.preventDefault(); this.send(kind, e.target); });
    $('stop').addEventListener('click', () => { $('stop').disabled = true; this.order('stop', {}); });
  },
};

// live is the run that goes on. Its events are those of lab run --json, from the beginning, then one that says where its page is.
const live = {
  follow() {
    orders.busy(true);
    const events = new EventSource('events');
    events.onopen = () => this.begin();
    events.onmessage = e => {
      const event = JSON.parse(e.data);
      if (event.event === 'end') events.close();
      this.take(event);
    };
    events.onerror = () => { $('far').textContent = 'The lab does not answer.'; };
  },

  begin() {
    this.cells = 0;
    this.surprises = 0;
    this.first = null;
    $('live').hidden = false;
    $('stop').disabled = $('stop').hidden = false;
    $('progress').value = 0;
    $('ended').replaceChildren();
    $('live').scrollIntoView({block: 'nearest'});
    this.far('');
  },

  take(e) {
    if (e.total) { $('progress').max = e.total; $('progress').value = e.done || 0; this.total = e.total; }
    const name = e.lock ? `${e.lock} / ${e.scenario}` : '';
    if (e.event === 'run-start') { $('live-head').textContent = 'Running: lab ' + (e.run.command || []).map(clean).join(' '); this.far(''); }
    if (e.event === 'storm-goes-on') {
      this.far(`; ${name} for ${span(e.took_ns / 1e6)} of ${span(e.for_ns / 1e6)}, ${plural(e.operations, 'operation', 'operations')}`);
      $('progress').value = (e.done || 0) + Math.min(1, e.took_ns / e.for_ns);
    }
    if (e.event === 'cell-end') this.ended(e, name);
    if (e.event === 'end') this.over(e);
  },

  far(more) { $('far').textContent = `${this.cells} of ${this.total || '?'} done, ${plural(this.surprises, 'surprise', 'surprises')}${more}`; },

  ended(e, name) {
    const kind = {safe: 'safe', broken: 'broken', 'n/a': 'na', unknown: 'unknown'}[e.cell.verdict.kind] || 'unknown';
    const cls = {SURPRISE: 'surprise', FAILED: 'failed', 'n/a': 'na', unknown: 'unknown'}[e.status] || kind;
    this.cells++;
    if (cls === 'surprise') this.surprises++;
    this.far('');
    this.first = this.first || e;
    if (cls === 'na') return; // it was not played
    $('ended').prepend(el('li.' + cls, {}, el('code', {}, clean(name)), ' ', el('b.tag.' + cls, {}, CLASS_WORDS[cls]), el('p.soft', {}, clean(e.cell.failure || e.cell.finding || e.cell.verdict.reason || ''))));
    if ($('ended').children.length > MOST_ENDED) $('ended').lastChild.remove();
  },

  // over leads to what was run: to its only cell, or to all of them.
  over(e) {
    orders.busy(false);
    $('stop').hidden = true;
    $('live-head').textContent = $('live-head').textContent.replace('Running', e.stopped ? 'Stopped' : 'Ended');
    if (e.error) orders.problem(e.error);
    if (!e.page) return;
    const cell = this.cells === 1 ? `#/${encodeURIComponent(this.first.scenario)}/${encodeURIComponent(this.first.lock)}` : '';
    if (e.error || e.stopped) $('far').append('. ', el('a', {href: e.page + cell}, 'Look at what was run'));
    else location.assign(e.page + cell);
  },
};

looks.init(() => {});
orders.init();
if (document.documentElement.dataset.running) live.follow();
document.documentElement.dataset.ready = '#';
