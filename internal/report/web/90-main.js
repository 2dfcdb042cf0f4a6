// The page as a whole: where it is.

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

function redraw() { if (viewer.columns.length && !$('cell').hidden) viewer.drawFilms(); }

async function main() {
  looks.init(redraw);
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
