// The editor of a script: a text with line numbers, and marks on those that are wrong.

const editor = {
  init() {
    const text = $('script');
    text.addEventListener('input', () => { page.state.script = text.value; page.draw(); page.share(); });
    text.addEventListener('scroll', () => { $('lines').scrollTop = text.scrollTop; });
    text.addEventListener('keydown', e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) page.play(); });
  },
  set(text) {
    if ($('script').value !== text) $('script').value = text;
    this.wrong = [];
    this.draw();
  },
  // complain marks lines.
  complain(wrong) {
    this.wrong = wrong;
    this.draw();
  },
  draw() {
    const count = $('script').value.split('\n').length, bad = new Set(this.wrong.map(w => w.line));
    $('lines').replaceChildren(...Array.from({length: count}, (_, n) => el(bad.has(n + 1) ? 'b' : 'span', {}, String(n + 1))));
    $('lines').scrollTop = $('script').scrollTop;
    $('wrong').replaceChildren(...this.wrong.map(w => el('li', {}, el('button', {type: 'button', onclick: () => this.select(w.line)}, 'line ' + w.line), ' ', w.what)));
    $('script').setAttribute('aria-invalid', String(this.wrong.length > 0));
  },
  select(line) {
    const lines = $('script').value.split('\n'), from = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    $('script').focus();
    $('script').setSelectionRange(from, from + lines[line - 1].length);
  },
};
