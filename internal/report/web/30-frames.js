// Frames are what the viewer goes through: a step of one cell, or the same step of two. Rounds that are alike are one frame.

// framesOf aligns the steps of one or two histories by the script's lines, and folds what repeats.
function framesOf(histories, marked) {
  const columns = histories.map(h => h ? h.steps : []);
  return fold(align(columns), histories, marked);
}

// align merges lists of steps by their keys; what one of them lacks is null there.
function align(columns) {
  if (columns.length === 1) return columns[0].map(s => ({key: s.key, steps: [s]}));
  const [a, b] = columns, rows = [];
  const inA = new Map(a.map((s, n) => [s.key, n])), inB = new Map(b.map((s, n) => [s.key, n]));
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    const x = a[i], y = b[j];
    if (x && y && x.key === y.key) { rows.push({key: x.key, steps: [x, y]}); i++; j++; }
    else if (x && !(inB.get(x.key) >= j) && (!y || x.key !== 'end')) { rows.push({key: x.key, steps: [x, null]}); i++; }
    else if (y && !(inA.get(y.key) >= i) && (!x || y.key !== 'end')) { rows.push({key: y.key, steps: [null, y]}); j++; }
    else if (x) { rows.push({key: x.key, steps: [x, null]}); i++; }
    else { rows.push({key: y.key, steps: [null, y]}); j++; }
  }
  return rows;
}

// Rounds of up to so many steps fold if there are at least so many of them, and tries of so many events.
const LONGEST_ROUND = 6, LONGEST_TRY = 24, FEWEST_ROUNDS = 3;

function fold(rows, histories, marked) {
  const signs = rows.map(row => {
    const each = row.steps.map((s, n) => s ? sign(histories[n], s, marked[n]) : '-');
    return each.includes('') ? '' : each.join('\n');
  });
  return roundsOf(signs, LONGEST_ROUND).map(round => frameOf(rows, round.from, round));
}

// roundsOf splits what has these signs into rounds: what is not there several times in a row is one of its own.
function roundsOf(signs, longest) {
  const rounds = [];
  for (let i = 0; i < signs.length;) {
    let best = {from: i, length: 1, times: 1};
    for (let length = 1; length <= longest; length++) {
      let times = 1;
      while (sameRound(signs, i, i + times * length, length)) times++;
      if (times >= FEWEST_ROUNDS && times * length > best.times * best.length) best = {from: i, length, times};
    }
    rounds.push(best);
    i += best.length * best.times;
  }
  return rounds;
}

// folded are the events of a step without the tries that are like the ones before.
function folded(h, events, marked) {
  const signs = events.map(e => marked.has(e.i) || e.kind === 'fault' || e.kind === 'gap' ? '' : eventSign(h, e));
  return roundsOf(signs, LONGEST_TRY).flatMap(({from, length, times}) => {
    if (times === 1) return [events[from]];
    const last = from + (times - 1) * length, between = events.slice(from + length, last);
    return [...events.slice(from, from + length), {i: between[0].i, at: between[0].at, kind: 'gap', rounds: times - 2}, ...events.slice(last, last + length)];
  });
}

const sameRound = (signs, one, two, length) => two + length <= signs.length && signs.slice(one, one + length).every((s, n) => s !== '' && s === signs[two + n]);

const eventSign = (h, e) => [e.kind, e.client, e.op, e.outcome, e.args && e.args[0], e.server, e.reply && shape(e.reply), (h.touches.get(e.i) || []).map(t => t.effect.replace('created', 'replaced') + t.owner)].join(' ');

// shape is a reply without its numbers and tokens: nothing is like an error, and a number is like nil.
const shape = reply => reply[0] === '-' ? reply : reply.replace(/^"?nil"?$/, '#').replace(/\w*\d\w*/g, '#');

// sign is what makes two steps alike for a reader; empty: nothing is like this one.
function sign(h, s, marked) {
  if (s.events.some(e => marked.has(e.i) || e.kind === 'fault')) return '';
  const events = s.events.map(e => eventSign(h, e));
  const holders = h.holds.filter(o => o.at(s.pos)).map(o => o.client);
  return [s.text, s.why, ...events, holders].join('|');
}

function frameOf(rows, i, {length, times}) {
  const first = rows.slice(i, i + length), last = rows.slice(i + (times - 1) * length, i + times * length);
  const columns = first[0].steps.map((_, n) => {
    const some = list => list.map(row => row.steps[n]).filter(Boolean);
    const head = some(first), tail = some(last);
    if (!head.length) return null;
    const end = tail[tail.length - 1];
    return {first: head[0].first, pos: end.pos, now: end.now, began: head[0].began, why: head.map(s => s.why).find(Boolean) || '', head, tail: times > 1 ? tail : [], two: rows.slice(i, i + length * times).some(row => row.steps[n] && row.steps[n].two)};
  });
  const steps = first.map(row => row.steps.find(Boolean));
  return {key: first[0].key, lines: steps.map(s => s.line).filter(Boolean), text: steps.map(s => s.text).join(' · '), times, length, columns};
}

// frameAt is the number of the frame with an event of a column.
function frameAt(frames, column, event) {
  let at = 0;
  frames.forEach((f, n) => { if (f.columns[column] && f.columns[column].first <= event) at = n; });
  return at;
}
