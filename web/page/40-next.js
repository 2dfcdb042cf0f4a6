// What can come next: a button for each step, by whose it is.

function drawNext() {
  const place = page.place, into = $('next');
  if (page.state.mode !== 'walk' || !place) return;
  const made = page.state.choices.length, frame = result.frames[result.at];
  const seen = frame && frame.lines.length ? Math.max(...frame.lines) : made;
  const inside = into.contains(document.activeElement);
  $('code').classList.toggle('earlier', seen < made);
  if (seen < made) {
    into.replaceChildren(el('h2', {}, 'What comes next'), el('p', {}, `This is step ${seen} of ${made}. `, el('button', {type: 'button', onclick: () => page.go({choices: page.state.choices.slice(0, seen)})}, 'Go on from here'), ' ', el('button', {type: 'button', onclick: () => result.to(result.frames.length)}, 'Go to the last step')));
    return;
  }
  const groups = new Map();
  for (const c of place.choices) groups.set(c.group, [...(groups.get(c.group) || []), c]);
  const titles = {time: 'Time', server: 'Servers'}, rank = group => ['time', 'server'].indexOf(group);
  const order = [...groups.keys()].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b)); // clients first
  into.replaceChildren(el('h2', {}, 'What comes next'),
    place.choices.length ? el('div.ways', {}, order.map(group => el('section' + (group in titles ? '' : '.c' + (+group.slice(1) - 1) % 6), {}, el('h3', {}, titles[group] || group), groups.get(group).map(way))))
      : el('p', {}, place.ended ? 'This is the end: nothing comes next. Take a step back, or start again.' : 'Nothing can happen any more with these clients and faults.'));
  const first = into.querySelector('.way');
  if (inside && first) first.focus({preventScroll: true}); // the button that was pressed is gone
}

// way is the button of a step.
function way(c) {
  return el('button.way' + (c.fault ? '.fault' : ''), {type: 'button', 'data-id': c.id, onclick: () => page.go({choices: [...page.state.choices, c.id]})},
    el('b', {}, c.label), c.leads ? el('small', {}, '→ ' + c.leads) : '', (c.anomalies || []).map(name => el('span.flag', {}, name)));
}
