// What a reader asks about a cell, in the texts that lab explain has: what its faults and anomalies are, why they happen, and which locks stop them.

// explained is about a scenario: its faults, which locks of the run stop what goes wrong there, and which only seem to.
function explained(scenario) {
  const {stops = [], seems = []} = scenario;
  const injected = matrix.faults.filter(f => (scenario.faults || []).includes(f.name));
  const parts = injected.map(f => el('p', {}, el('b', {}, f.name), `: ${f.meaning}. `, el('span.soft', {}, f.why)));
  if (stops.length || seems.length) parts.push(el('p', {}, el('b', {}, 'What stops it: '), stops.length ? stops.join(', ') + '.' : 'no lock of this run without a known bug.'));
  if (seems.length) parts.push(el('div', {}, el('b', {}, 'What only seems to:'), el('ul', {}, seems.map(s => el('li', {}, s + '.')))));
  return parts.length ? el('details.explained', {}, el('summary', {}, 'Why, what stops it, and what only seems to'), parts) : '';
}

// reasonOf is why an anomaly happens.
function reasonOf(name) {
  const anomaly = matrix.anomalies.find(a => a.name === name);
  return anomaly && anomaly.why ? el('p.soft.reason', {}, `${anomaly.meaning}. ${anomaly.why}`) : '';
}
