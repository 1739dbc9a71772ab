/** Points of chart lines, made from rows (`{t, …}`, in order of t); nothing here touches the page. */

/** The points `{x, y, row, lone}` of one line; `list` stays the same array, as the chart holds it. */
export class Points {
  constructor(value) {
    this.value = value;
    this.list = [];
    this.filled = false; // whether any of them has a value but 0
    this.lone = 0; // how many stand between gaps, where no line shows them
  }

  /** Append the rows that are new; where the rows before them are others, begin anew. */
  follow(rows) {
    if (!this.continues(rows)) this.clear();
    const added = [];
    for (let at = this.list.length; at < rows.length; at += 1) {
      const y = this.value(rows[at]) ?? null;
      added.push({ x: rows[at].t, y, row: rows[at], lone: false });
      this.filled ||= Boolean(y);
    }
    if (!added.length) return;
    const from = Math.max(0, this.list.length - 1); // the last one has a neighbor now
    this.list.push(...added);
    this.markLone(from);
  }

  markLone(from) {
    const hasValue = (at) => (this.list[at]?.y ?? null) !== null;
    for (let at = from; at < this.list.length; at += 1) {
      const point = this.list[at];
      const lone = hasValue(at) && !hasValue(at - 1) && !hasValue(at + 1);
      this.lone += Number(lone) - Number(point.lone);
      point.lone = lone;
    }
  }

  continues(rows) {
    const { list } = this;
    return !list.length || (list[0].row === rows[0] && list.at(-1).row === rows[list.length - 1]);
  }

  clear() {
    this.list.splice(0, this.list.length); // Chart.js, which watches the array, takes the second argument for given
    this.filled = false;
    this.lone = 0;
  }
}

/** The rows of a table as the page brings it: its columns' names and the values of each row. */
export function rowsOf({ columns, rows } = { columns: [], rows: [] }) {
  return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
}

/** The same with an empty row wherever more than `longest` seconds passed, so that a line breaks there. */
export function withGaps(rows, longest, step) {
  return rows.flatMap((row, at) =>
    at && row.t - rows[at - 1].t > longest ? [{ t: rows[at - 1].t + step }, row] : [row],
  );
}

/** Index of the first row whose t is at or after `t`. */
function firstAt(rows, t) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].t < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row nearest to `t`, or undefined where there is none. */
export function nearest(rows, t) {
  const after = firstAt(rows, t);
  const [left, right] = [rows[after - 1], rows[after]];
  if (!left || !right) return left || right;
  return t - left.t <= right.t - t ? left : right;
}

/**
 * At most `count` of the rows of a span of time, the highest of each group of neighbors. Areas on each other need the
 * same rows in each, so Chart.js' decimation, which chooses points line by line, is not for them.
 */
export function tallest(rows, [from, to], count, height) {
  if (rows.length <= count) return rows;
  const seen = rows.slice(Math.max(0, firstAt(rows, from) - 1), firstAt(rows, to) + 1);
  const groups = Math.min(count, seen.length);
  const edge = (at) => Math.floor((at * seen.length) / groups);
  return Array.from({ length: groups }, (_, at) =>
    seen.slice(edge(at), edge(at + 1)).reduce((best, row) => (height(row) > height(best) ? row : best)),
  );
}

/**
 * The moment of the row that is `by` rows away from the one at `t` (null: from before the first, or behind the last), of
 * those in a span; null where it has none. Rows without values only break lines, and count as none.
 */
export function moved(rows, [from, to], t, by) {
  const seen = rows.filter((row) => row.t >= from && row.t <= to && Object.keys(row).length > 1);
  if (!seen.length) return null;
  const last = seen.length - 1;
  const after = t === null ? (by > 0 ? 0 : seen.length) : firstAt(seen, t);
  const isBetween = seen[after]?.t !== t;
  const next = after + by - (by > 0 && isBetween ? 1 : 0);
  return seen[Math.min(last, Math.max(0, next))].t;
}
