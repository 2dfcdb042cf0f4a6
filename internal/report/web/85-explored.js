// The table of breaking points: a matrix whose entries say how few faults of a kind it takes, and what they lead to. Each opens its counterexample.

// entryWords is an entry of the table in words; empty: the matrix is of a run.
function entryWords(matrix, cell) {
  const entry = matrix.entries && matrix.entries[cell.scenario + '/' + cell.lock];
  return entry ? ': ' + entry[1] : '';
}

// sideOf is the lock of a cell; of two runs side by side, with the run that it is from.
function sideOf(item) {
  const lock = matrix.locks[item.lock];
  return matrix.sides ? {...lock, name: `${lock.name}, ${matrix.sides[item.round - 1]}`} : lock;
}

// entryLegend explains the signs of the table.
function entryLegend(matrix) {
  if (!matrix.explored || !matrix.entries) return [];
  const signs = [
    ['1D', 'one such fault alone makes two holders, as the first thing to go wrong'],
    ['1G 2D', 'one leaves a ghost, two make two holders; 1G -: no two holders within the bounds'],
    ['-', 'it holds: up to two of them break nothing, within the bounds'],
    ['>1', 'one breaks nothing; the search for two was not complete'],
    ['?1/25', 'the search was not complete: nothing with fewer than one, nor with one in the first 25 steps'],
    ['-(2x1)', 'that is known of two clients once, and not of more'],
    ['\'', 'it takes two rounds'],
  ];
  return signs.map(([sign, text]) => el('li', {}, el('b', {}, sign), ': ' + text));
}
