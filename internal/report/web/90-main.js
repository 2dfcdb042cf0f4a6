// The page as a whole: where it is, and how it looks.

async function route() {
  const cell = location.hash.startsWith('#/');
  if (viewer.playing) viewer.play();
  $('all').hidden = cell;
  $('cell').hidden = !cell;
  document.body.classList.toggle('in-cell', cell);
  if (!cell) {
    document.title = document.documentElement.dataset.title;
    matrix.show(location.hash.slice(1));
    if (viewer.scroll != null) scrollTo(0, viewer.scroll);
    viewer.scroll = null;
    return;
  }
  if (viewer.scroll == null) viewer.scroll = scrollY;
  const [path, query] = location.hash.slice(2).split('?');
  const [scenario, lock, step] = path.split('/').map(decodeURIComponent), params = new URLSearchParams(query);
  const other = !viewer.state || viewer.state.lock !== lock || viewer.state.scenario !== scenario;
  await viewer.open({scenario, lock, step, beside: params.get('beside') || undefined, round: +params.get('round') || 0, hide: params.get('hide') || ''});
  if (other) scrollTo(0, 0);
}

// Looks: light, dark or as the system has it, and large for a projector. A page that cannot remember goes without.
const looks = {
  get(key) { try { return localStorage.getItem('locklab-' + key) || ''; } catch { return ''; } },
  set(key, value) {
    try { localStorage.setItem('locklab-' + key, value); } catch { /* a page from a file may not */ }
    this.apply(key, value);
  },
  apply(key, value) {
    document.documentElement.dataset[key] = value;
    $(key).setAttribute('aria-pressed', String(!!value));
  },
  init() {
    for (const key of ['theme', 'large']) this.apply(key, this.get(key));
    const dark = matchMedia('(prefers-color-scheme: dark)');
    $('theme').addEventListener('click', () => this.set('theme', document.documentElement.dataset.theme ? '' : dark.matches ? 'light' : 'dark'));
    $('large').addEventListener('click', () => { this.set('large', document.documentElement.dataset.large ? '' : '1'); redraw(); });
  },
};

function redraw() { if (viewer.columns.length && !$('cell').hidden) viewer.drawFilms(); }

async function main() {
  looks.init();
  matrix.init(await unpack('index'));
  matrix.setup();
  addEventListener('hashchange', route);
  addEventListener('keydown', e => { if (!$('cell').hidden) viewer.key(e); });
  let waiting = 0;
  addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });
  await storms.init();
  await route();
  document.documentElement.dataset.ready = location.hash || '#';
  performance.mark('ready');
}

main();
