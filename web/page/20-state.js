// What the page shows is in its URL, so a link shares it.

const ALONE_HERE = '';

// READING is where a reader of the course is.
const READING = ['chapter', 'lang', 'at'];

const blank = () => ({mode: 'walk', lock: 'setpx-del', beside: ALONE_HERE, clients: 2, rounds: 1, most: 2, faults: null, choices: [], scenario: 'pause-past-lease', script: null, chapter: '', lang: 'en', at: ''});

// hashOf writes a state: only what differs from a blank one.
async function hashOf(s) {
  if (s.mode === 'read') return course.place(s.chapter, s.lang, s.at);
  const q = new URLSearchParams({lock: s.lock});
  for (const key of READING) if (s[key] !== blank()[key]) q.set(key, s[key]); // what is played leads back there
  if (s.beside) q.set('beside', s.beside);
  if (s.mode === 'play') {
    if (s.script === null) q.set('scenario', s.scenario);
    else q.set('script', await packed(s.script));
    return '#play?' + q;
  }
  for (const key of ['clients', 'rounds', 'most']) if (s[key] !== blank()[key]) q.set(key, s[key]);
  if (s.faults) q.set('faults', s.faults.join(' '));
  if (s.choices.length) q.set('steps', s.choices.join(' '));
  return '#walk?' + q;
}

async function stateOf(hash) {
  const [mode, query] = hash.slice(1).split('?'), q = new URLSearchParams(query), s = blank();
  if (['play', 'read'].includes(mode)) s.mode = mode;
  for (const key of ['lock', 'beside', 'scenario', ...READING]) if (q.has(key)) s[key] = q.get(key);
  for (const key of ['clients', 'rounds', 'most']) if (/^\d+$/.test(q.get(key))) s[key] = +q.get(key);
  for (const [key, to] of [['faults', 'faults'], ['steps', 'choices']]) if (q.has(key)) s[to] = q.get(key).split(' ').filter(Boolean);
  try {
    if (q.has('script')) s.script = await unpacked64(q.get('script'));
  } catch {
    s.damaged = 'The script in this link cannot be read: the link is not complete. Copy it again.';
  }
  return s;
}

// A script in a link is compressed.
async function packed(text) {
  const bytes = new Uint8Array(await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

async function unpacked64(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text();
}
