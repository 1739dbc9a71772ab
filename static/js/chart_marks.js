/** Marked moments of charts: which are shown, where their names have room, and which lie at a place; touches no page. */

const ROW = 12; // px: the height of a line of names
const ROWS = 2; // lines of names at the top of a chart
const GAP = 4; // px between a mark and its name, and between names

/** Marks `{t, label, kind?, text?, url?}` and the kinds of them that are hidden. */
export class Marks {
  constructor() {
    this.list = [];
    this.hidden = new Set();
  }

  push(...marks) {
    this.list.push(...marks);
  }

  /** Add those that are not there yet, and return them. */
  add(marks) {
    const known = new Set(this.list.map(nameOf));
    const added = marks.filter((mark) => !known.has(nameOf(mark)));
    this.push(...added);
    return added;
  }

  get shown() {
    return this.list.filter(({ kind }) => !this.hidden.has(kind));
  }

  show(kind, isShown) {
    if (isShown) this.hidden.delete(kind);
    else this.hidden.add(kind);
  }

  /** Those from a moment on, for so long, in order of time; a length of 0 finds those at that very moment. */
  within(from, length) {
    return this.shown.filter(({ t }) => t === from || (t >= from && t < from + length)).sort((a, b) => a.t - b.t);
  }

  /** The one nearest to `t`, if it is not farther than `most`. */
  near(t, most) {
    const distance = (mark) => Math.abs(mark.t - t);
    const found = this.shown.reduce((best, one) => (best && distance(best) <= distance(one) ? best : one), null);
    return found && distance(found) <= most ? found : null;
  }
}

const nameOf = ({ t, kind, text }) => `${t} ${kind} ${text}`;

/**
 * Where the names of marks stand: `{mark, x, at, align, y}`, `at` null where a name has no room. `xOf(t)` and
 * `widthOf(text)` are in px, `left` and `right` the edges of the chart.
 */
export function placed(marks, xOf, widthOf, { left, right }) {
  const taken = Array.from({ length: ROWS }, () => []);
  const inSight = marks.map((mark) => ({ mark, x: xOf(mark.t) })).filter(({ x }) => x >= left && x <= right);
  return inSight
    .sort((a, b) => a.x - b.x)
    .map(({ mark, x }) => ({ mark, x, ...roomFor(x, widthOf(mark.label), taken, { left, right }) }));
}

function roomFor(x, width, taken, { left, right }) {
  const sides = [
    { at: x + GAP, align: "left", span: [x, x + width + GAP] },
    { at: x - GAP, align: "right", span: [x - width - GAP, x] },
  ];
  if (x > (left + right) / 2) sides.reverse();
  for (const [row, spans] of taken.entries()) {
    const side = sides.find(
      ({ span }) => span[0] >= left && span[1] <= right && spans.every((one) => apart(one, span)),
    );
    if (!side) continue;
    spans.push(side.span);
    return { at: side.at, align: side.align, y: row * ROW };
  }
  return { at: null, align: "left", y: 0 };
}

const apart = ([from, to], [start, end]) => end + GAP < from || start > to + GAP;
