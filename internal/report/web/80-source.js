// The source of a lock: its declarations, with the lines that its clients are at, and those that are the bug.

// placed are the lines of a lock that sent the commands of a history, by event: [file, line], or nothing where that is not known.
function placed(c) {
  if (!c.cell.placed) {
    const {sites = []} = c.cell, lines = new Map();
    let n = 0;
    for (const e of c.h.events) {
      if (e.kind !== 'command') continue;
      const site = sites[n++];
      if (site) lines.set(e.i, c.lock.code.sites[site - 1]);
    }
    c.cell.placed = lines;
  }
  return c.cell.placed;
}

// linesAt are the lines at which clients are after a step: [client, line, running]. A line is running if its operation is, or its request is on the wire;
// others have sent a command in the step. A client in an operation that has sent nothing is where that begins.
function linesAt(c, part) {
  const {h} = c, lines = placed(c), out = [];
  const steps = [...part.head, ...part.tail];
  h.clients.forEach((name, lane) => {
    let call = null, last = null;
    for (const e of h.events) {
      if (e.i > part.pos) break;
      if (e.client !== name) continue;
      if (e.kind === 'call') [call, last] = [e, null];
      else if (e.kind === 'return' && call && call.id === e.id || e.kind === 'exit') call = null;
      else if (e.kind === 'command' && call && e.id === call.id && e.op === call.op) last = e;
    }
    const here = call && call.op !== 'work' ? runningLine(c, name, call, last, part.pos) : null;
    if (here) out.push([lane, here, true]);
    const sent = steps.flatMap(s => s.events).filter(e => e.kind === 'command' && e.client === name && lines.has(e.i)).map(e => lines.get(e.i));
    for (const line of sent) if (!out.some(o => o[0] === lane && sameLine(o[1], line))) out.push([lane, line, false]);
  });
  return out;
}

// runningLine is where a client is in an operation. A request that is held on the wire is the operation's next command.
function runningLine(c, name, call, last, pos) {
  const {h} = c, lines = placed(c);
  const held = h.faults.some(f => f.at(pos) && /^hold|late-request/.test(f.kind) && f.lanes.includes(name));
  const next = held && h.events.find(e => e.i > pos && e.kind === 'command' && e.client === name && e.id === call.id);
  if (next) return lines.get(next.i);
  return last ? lines.get(last.i) : c.lock.code.begins[call.op];
}

const sameLine = (a, b) => a[0] === b[0] && a[1] === b[1];

// sourceOf draws the source beside what happened; nothing, if it is not known.
function sourceOf(c, part, v) {
  const code = c.lock.code, texts = unpacked.sourceTexts;
  if (!code || !texts) return '';
  const at = linesAt(c, part), told = !v.state.hide;
  const rows = code.parts.flatMap(([file, from, to], n) => {
    const before = code.parts[n - 1];
    const head = !before || before[0] !== file ? [el('li.file', {}, 'impls/' + code.files[file])] : [];
    const text = texts[code.files[file]].split('\n').slice(from - 1, to);
    return [...head, ...text.map((line, i) => {
      const here = at.filter(a => sameLine(a[1], [file, from + i])), marked = (code.bugs || []).find(b => sameLine(b.at, [file, from + i])), bug = told && marked;
      if (marked && !told) line = line.replace(/\/\/ .*/, ''); // the comment says it
      const who = here.map(a => el('b.at.c' + a[0] % 6 + (a[2] ? '.running' : ''), {title: a[2] ? 'is here' : 'was here in this step'}, c.h.clients[a[0]]));
      const cls = (here.some(a => a[2]) ? '.running' : here.length ? '.ran' : '') + (bug ? '.faulty' : '') + (i === 0 ? '.first' : '');
      return el('li' + cls, {}, el('span.no', {'aria-hidden': 'true'}, String(from + i)), el('span.who', {}, who), el('code', {}, line.replace(/\t/g, '  ') || ' ', bug ? el('b.tag', {title: bug.what || c.lock.bug}, bug.what ? 'the bug: ' + bug.what : 'the bug') : ''));
    })];
  });
  const words = at.length ? ': a filled name is here, an outlined one was here in this step' : ': no client is in it now';
  return el('details.source', {open: openSource(), ontoggle: e => { if (e.target.isConnected) openSource(e.target.open); }}, el('summary', {}, 'Source of ' + c.lock.name, el('span.soft', {}, words)), el('div.lines', {tabindex: 0, role: 'region', 'aria-label': 'Source of ' + c.lock.name}, el('ol', {}, rows)));
}

// openSource remembers whether sources are shown.
let sourceShown = innerWidth >= 900;
const openSource = on => on === undefined ? sourceShown : sourceShown = on;

// showLines scrolls each source to where its clients are.
function showLines() {
  for (const list of document.querySelectorAll('.source .lines')) {
    const line = list.querySelector('.running') || list.querySelector('.ran') || list.querySelector('.faulty');
    if (line) list.scrollTop = Math.max(0, line.offsetTop - list.clientHeight / 3);
  }
}
