/** Thinning of long series for drawing: what the eye would miss is left out, peaks and dips stay. */

/** Index of the first row whose t is at or after `t`; rows are in order of t. */
export function firstAt(rows, t) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].t < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows of a span of time, with one neighbour on each side so that lines reach the edges. */
export function within(rows, [from, to]) {
  return rows.slice(Math.max(0, firstAt(rows, from) - 1), firstAt(rows, to) + 1);
}

/** The row nearest to `t`, or undefined where there is none. */
export function nearest(rows, t) {
  const after = firstAt(rows, t);
  const [left, right] = [rows[after - 1], rows[after]];
  if (!left || !right) return left || right;
  return t - left.t <= right.t - t ? left : right;
}

/**
 * At most `count` of the rows: largest-triangle-three-buckets (S. Steinarsson, 2013). The first and the last stay;
 * of each bucket between them the row that spans the largest triangle with its neighbours' is kept.
 */
export function thinned(rows, count, value) {
  if (rows.length <= count || count < 3) return rows;
  const y = (row) => value(row) ?? 0;
  const width = (rows.length - 2) / (count - 2);
  const kept = [rows[0]];
  for (let bucket = 0; bucket < count - 2; bucket += 1) {
    const start = 1 + Math.floor(bucket * width);
    const end = 1 + Math.floor((bucket + 1) * width);
    const beyond = mean(rows, end, Math.min(rows.length, 1 + Math.floor((bucket + 2) * width)), y);
    kept.push(largest(rows, start, end, kept[kept.length - 1], beyond, y));
  }
  kept.push(rows[rows.length - 1]);
  return kept;
}

function mean(rows, start, end, y) {
  const last = Math.max(end, start + 1);
  let [t, total] = [0, 0];
  for (let index = start; index < last; index += 1) {
    t += rows[Math.min(index, rows.length - 1)].t;
    total += y(rows[Math.min(index, rows.length - 1)]);
  }
  return { t: t / (last - start), y: total / (last - start) };
}

function largest(rows, start, end, left, right, y) {
  let [best, area] = [rows[start], -1];
  for (let index = start; index < end; index += 1) {
    const row = rows[index];
    const size = Math.abs((left.t - right.t) * (y(row) - y(left)) - (left.t - row.t) * (right.y - y(left)));
    if (size > area) [best, area] = [row, size];
  }
  return best;
}
