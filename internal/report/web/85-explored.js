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
  return (matrix.signs || []).map(([sign, text]) => el('li', {}, el('b', {}, sign), ': ' + text));
}
