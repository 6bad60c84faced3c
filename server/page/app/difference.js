// The difference of two lists of lines.

// The lines of `after` and of `before`, in order: kept, "-" gone, or "+" new. Lists of limits are
// short, so the longest common subsequence is found by the plain table.
export function difference(before, after) {
  const common = Array.from({length: before.length + 1}, () => Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; --i) {
    for (let j = after.length - 1; j >= 0; --j) {
      common[i][j] = before[i] === after[j]
        ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({sign: ' ', text: before[i++]});
      ++j;
    } else if (j === after.length || (i < before.length && common[i + 1][j] >= common[i][j + 1])) {
      lines.push({sign: '-', text: before[i++]});
    } else {
      lines.push({sign: '+', text: after[j++]});
    }
  }
  return lines;
}
