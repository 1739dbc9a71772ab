/**
 * Stacked charts that share one time axis, one crosshair and one zoom. A stack holds charts, a chart holds series,
 * a series reads its rows (`{t, …}`, in order of t) from the caller's own array: to add points, push and draw.
 */

import { announceZoom, crosshair, listen } from "./chart_controls.js";
import { Marks } from "./chart_marks.js";
import { configuration, paintFrame, THINNED_FROM } from "./chart_options.js";
import { moved, nearest, Points, tallest } from "./chart_points.js";
import { COUNTED, spoken } from "./chart_readout.js";
import { Zoom } from "./chart_zoom.js";
import { color, mixed, onTheme } from "./charts_colors.js";
import { exact, rounded, seconds } from "./run_figures.js";

const EDGE = { hidden: false, pointRadius: 0, borderWidth: 0 };
const NEAR = "150px"; // of the window: a chart so near to it is drawn as if it were in sight
const DOT = 2.5; // px: the radius of a point between gaps
const MARK_NEAR = 5; // px from a mark, where a pointer is at it
const UNSEEN = 5000; // ms after which a chart out of sight is drawn again

/**
 * Charts under one clock. `span` is the whole planned time in seconds; what lies beyond `reached` is shaded. A clock
 * of its own has a `start`, a `label` for the axis and the words for a `moment`; `step`: how many seconds each row stands
 * for, 0 for a moment. `viewed(zoom)`, if it is set, is told of each view.
 */
export class ChartStack {
  constructor(span, { start = 0, label = seconds, moment = (t) => `${t} s`, step = 0 } = {}) {
    Object.assign(this, { label, moment, step });
    this.charts = [];
    this.zoom = new Zoom(start, span);
    this.reached = 0;
    this.shaded = true;
    this.cursor = null;
    this.pointed = null; // the chart that the pointer or the keyboard is in
    this.marks = new Marks(); // of all charts that have none of their own
    onTheme(() => this.repaint());
    this.sight = new IntersectionObserver((seen) => this.see(seen), { rootMargin: NEAR });
  }

  /** Put a chart into `root`, an element with `data-chart`; see `TimeChart` for the words. */
  add(root, title, series, options = {}) {
    const chart = new TimeChart(this, root, title, series, options);
    this.charts.push(chart);
    this.sight.observe(root);
    return chart;
  }

  /** Charts that come into sight get what they missed. */
  see(seen) {
    for (const { target, isIntersecting } of seen) {
      const chart = this.charts.find((one) => one.root === target);
      chart.inSight = isIntersecting;
      if (isIntersecting) chart.drawIfSeen();
    }
  }

  /** Draw what the series hold by now, in one pass and without animation. */
  draw() {
    this.drawEach(this.charts, (chart) => chart.draw());
  }

  /** Draw into these charts what came since the last time. */
  drawNew(charts) {
    this.drawEach(charts, (chart) => chart.drawNew());
  }

  /**
   * Draw the canvases first, then write the texts: setting a canvas's font makes the browser recompute the styles of
   * all elements that have changed, so a text written between two canvases would cost that once for each.
   */
  drawEach(charts, draw) {
    for (const chart of charts) draw(chart);
    for (const chart of charts) chart.readOut();
  }

  /** Make the axis longer (a run without planned end grows), a zoomed view excepted; whether it is longer now. */
  extend(span) {
    if (span <= this.zoom.end) return false;
    this.zoom.reach(this.zoom.start, span);
    return true;
  }

  /** Show another span of time, a zoomed view excepted, with what the series hold by now. */
  slide(start, span) {
    this.zoom.reach(start, span);
    this.draw();
  }

  zoomInto(range) {
    this.zoom.into(range);
    this.show();
  }

  undoZoom() {
    this.zoom.undo();
    this.show();
  }

  show() {
    for (const chart of this.charts) announceZoom(chart);
    this.draw();
    this.viewed?.(this.zoom);
  }

  /** Move the crosshair of all charts to a time, or away (null); `chart` is the one that says what is there. */
  point(t, chart = null) {
    Object.assign(this, { cursor: t, pointed: chart });
    for (const chart of this.charts) chart.readOut();
  }

  /** Show or hide the series of a `group` in all charts. */
  showGroup(group, isShown) {
    for (const chart of this.charts)
      for (const [index, one] of chart.series.entries()) if (one.group === group) chart.hide(index, !isShown);
    this.draw();
  }

  repaint() {
    for (const chart of this.charts) chart.paint();
    this.draw();
  }
}

/**
 * One chart. A series is `{label, color, unit, rows, value(row), band?(row) → [low, high], dashed?}`; with `shade`
 * (as "60%") its color is that much weaker, `optional` ones are named once they have a value but 0. In a `stacked`
 * chart areas lie on each other, all from the same rows, but for the lines of series that are `alone`. `quiet` ones are
 * in no legend; `group`: with which others the page hides them. `marksNamed`: the marked moments are named in this chart;
 * `marks`: its own. `most`: where the axis ends.
 */
class TimeChart {
  constructor(stack, root, title, series, { stacked = false, marksNamed = false, marks = stack.marks, most }) {
    const counts = series.length > 0 && series.every(({ unit }) => COUNTED.includes(unit));
    Object.assign(this, { stack, root, title, stacked, marksNamed, marks, most, counts });
    Object.assign(this, { series: [], legend: [], lines: [] });
    this.inSight = true; // until the browser says otherwise
    this.drawnAt = -UNSEEN;
    this.canvas = root.querySelector("canvas");
    this.chart = new window.Chart(
      this.canvas,
      configuration(this, (range) => stack.zoomInto(range)),
    );
    this.crosshair = crosshair(this.canvas);
    this.take(series);
    listen(this);
  }

  /** Take these series in place of those before; what was hidden stays hidden. */
  take(series) {
    const hidden = new Set(this.series.filter((_, index) => this.isHidden(index)).map(({ label }) => label));
    this.series = series;
    this.lines = series.map((one) => linesOf(one, this.stacked && !one.alone));
    this.chart.data.datasets = this.lines.flat().map(({ dataset }) => dataset);
    for (const [index, { label }] of series.entries()) this.hide(index, hidden.has(label));
    this.legend = buildLegend(this);
    this.drawnAt = -UNSEEN; // the axes are those of the series before
    this.paint();
  }

  /** Take the colors of the theme. */
  paint() {
    paintFrame(this.chart);
    this.series.forEach((one, index) => {
      const [{ dataset }, , top] = this.lines[index];
      dataset.borderColor = color(one.color, one.shade);
      dataset.backgroundColor = dataset.fill ? color(one.color, one.shade ?? "80%") : dataset.borderColor;
      if (top) top.dataset.backgroundColor = color(one.color, "22%");
    });
  }

  /** Draw what the series hold by now; out of sight that is done now and then only. */
  drawIfSeen() {
    if (this.inSight || performance.now() - this.drawnAt > UNSEEN) this.stack.drawNew([this]);
  }

  draw() {
    this.update(this.feedAll());
  }

  /** Draw what came since the last time; where that fits into the axes as they are, in a third of the time of `draw`. */
  drawNew() {
    const before = this.lines.flat().map(({ points: { list } }) => ({ count: list.length, last: list.at(-1) }));
    const isNewLook = this.feedAll();
    if (isNewLook || !this.fits(before)) {
      this.update(isNewLook);
      return;
    }
    for (const index of this.chart.data.datasets.keys()) {
      const { controller } = this.chart.getDatasetMeta(index);
      controller.buildOrUpdateElements();
      controller.update("none");
    }
    this.chart.draw();
    this.drawnAt = performance.now();
  }

  update(isNewLook) {
    const [min, max] = this.stack.zoom.range;
    Object.assign(this.chart.options.scales.x, { min, max });
    this.chart.update(isNewLook ? "default" : "none"); // "none" is the cheapest, and keeps the look of the points
    this.drawnAt = performance.now();
  }

  /** Whether the axes were made for what the lines held `before`, and have room for what was appended since. */
  fits(before) {
    const { x, y } = this.chart.scales;
    const [min, max] = this.stack.zoom.range;
    if (this.stacked || this.drawnAt < 0 || x.min !== min || x.max !== max) return false;
    return this.lines.flat().every(({ points: { list }, dataset: { hidden } }, at) => {
      const { count, last } = before[at];
      const isSame = list.length < THINNED_FROM && list[count - 1] === last;
      return (
        isSame && (hidden || list.slice(count).every((one) => one.y === null || (one.y >= y.min && one.y <= y.max)))
      );
    });
  }

  /** Give all lines the points of their rows; whether any looks otherwise now. */
  feedAll() {
    const areas = this.stacked ? this.rowsOfAreas() : null;
    return this.series.map(({ rows }, index) => this.feed(index, areas ?? rows)).includes(true);
  }

  /** Give a series' lines the points of these rows; whether they look otherwise now. */
  feed(index, rows) {
    const series = this.series[index];
    const [line] = this.lines[index];
    for (const { points } of this.lines[index]) {
      if (rows !== series.rows) points.clear(); // chosen anew
      points.follow(rows);
    }
    if (series.optional) this.legend[index].parentNode.hidden = !line.points.filled;
    const radius = line.points.lone ? dotIfLone : 0; // a function costs time for each point
    const isNewLook = radius !== line.dataset.pointRadius;
    line.dataset.pointRadius = radius;
    return isNewLook;
  }

  /** Chart.js thins lines; areas on each other need the same rows in each, chosen by their height together. */
  rowsOfAreas() {
    const areas = this.series.filter(({ alone }) => !alone);
    const height = (row) => areas.reduce((sum, one) => sum + (one.value(row) ?? 0), 0);
    return tallest(this.series[0]?.rows ?? [], this.stack.zoom.range, Math.max(400, this.chart.width), height);
  }

  /** Write beside the legend's names the figures at the crosshair, else a series' `mean()`, else the latest ones. */
  readOut() {
    const { cursor } = this.stack;
    this.crosshair(cursor === null ? null : this.chart.scales.x.getPixelForValue(cursor), this.chart.chartArea);
    for (const [index, one] of this.series.entries()) {
      const mean = cursor === null ? one.mean?.() : null;
      if (mean != null) {
        this.nameMean(index, mean);
        continue;
      }
      const row = cursor === null ? one.rows[one.rows.length - 1] : nearest(one.rows, cursor);
      const value = row ? one.value(row) : null;
      this.name(index, value, row ? this.stamped(value, one.unit, row.t) : "");
    }
    this.say(cursor === null || this.stack.pointed !== this ? "" : this.wordsAt(cursor));
  }

  say(text) {
    const place = this.root.querySelector("[data-readout]");
    if (place && place.textContent !== text) place.textContent = text;
  }

  wordsAt(t) {
    const seen = this.series.filter((_, index) => !this.isHidden(index));
    const figures = seen.map((one) => ({ ...one, value: valueAt(one, t) }));
    return spoken(this.stack.moment(this.rowAt(t)), figures, this.marksAt(t));
  }

  /** The moment of the row nearest to `t`. */
  rowAt(t) {
    return nearest(this.series[0]?.rows ?? [], t)?.t ?? t;
  }

  /** What is marked within the row at `t`; a pointer between rows is also at the mark that is close to it. */
  marksAt(t) {
    if (t === null) return [];
    const row = this.rowAt(t);
    const within = this.marks.within(row, this.stack.step);
    const near = this.stack.step && t === row ? null : this.markAt(this.chart.scales.x.getPixelForValue(t));
    return near && !within.includes(near) ? [...within, near] : within;
  }

  /** The mark at a place in px, if any. */
  markAt(x) {
    return this.marks.near(this.timeAt(x), this.timeAt(x + MARK_NEAR) - this.timeAt(x));
  }

  /** Move the cursor by so many rows. */
  move(by) {
    const t = moved(this.series[0]?.rows ?? [], this.stack.zoom.range, this.stack.cursor, by);
    if (t !== null) this.stack.point(t, this);
  }

  /** How many rows a part of the view has, one at least. */
  rowsAcross(part) {
    const [from, to] = this.stack.zoom.range;
    const seen = (this.series[0]?.rows ?? []).filter(({ t }) => t >= from && t <= to);
    return Math.max(1, Math.round(seen.length * part));
  }

  /** A run that has ended is told by what it reached as a whole, not by its last interval. */
  nameMean(index, mean) {
    const value = exact(mean, this.series[index].unit);
    this.name(index, mean, interpolate(gettext("%(value)s over the whole run"), { value }, true));
  }

  stamped(value, unit, t) {
    const words = { value: exact(value, unit), moment: this.stack.moment(t) };
    return interpolate(gettext("%(value)s at %(moment)s"), words, true);
  }

  name(index, value, title) {
    this.legend[index].textContent = rounded(value);
    this.legend[index].title = title;
  }

  timeAt(x) {
    return this.chart.scales.x.getValueForPixel(x);
  }

  isHidden(index) {
    return this.lines[index][0].dataset.hidden;
  }

  /** Show or hide a series; whether it is shown now. */
  toggle(index) {
    this.hide(index, !this.isHidden(index));
    this.stack.drawEach([this], (chart) => chart.draw());
    return !this.isHidden(index);
  }

  hide(index, hidden) {
    for (const { dataset } of this.lines[index]) dataset.hidden = hidden;
  }
}

/** A series' line and, where it has a band, the band's edges: each the dataset that Chart.js draws and its points. */
function linesOf(series, isArea) {
  const dash = series.dashed ? [6, 4] : [];
  const line = lineOf(series.value, { hidden: false, borderWidth: 1.75, borderDash: dash, pointRadius: 0 });
  if (isArea) Object.assign(line.dataset, { fill: "stack", borderWidth: 0.5 });
  if (series.alone) line.dataset.stack = series.label;
  if (!series.band) return [line];
  const edge = (at, fill) => lineOf((row) => series.band(row)?.[at], { ...EDGE, fill });
  return [line, edge(0, false), edge(1, "-1")];
}

/** The radius of a point: a line needs two points to be seen. */
const dotIfLone = ({ raw }) => (raw?.lone ? DOT : 0);

function lineOf(value, dataset) {
  const points = new Points(value);
  return { points, dataset: { ...dataset, data: points.list } };
}

function valueAt({ rows, value }, t) {
  const row = nearest(rows, t);
  return row ? value(row) : null;
}

function buildLegend(owner) {
  const list = owner.root.querySelector("[data-legend]");
  list.replaceChildren();
  return owner.series.map((one, index) => {
    if (one.quiet) return document.createElement("output");
    const button = document.createElement("button");
    const value = document.createElement("output");
    const key = document.createElement("i");
    key.style.background = mixed(one.color, one.shade ?? "100%");
    const title = gettext("Show or hide; the figure is the last one, or that at the cursor");
    Object.assign(button, { type: "button", className: "chart-key", title });
    value.setAttribute("aria-live", "off"); // the line below the chart tells what is at the cursor
    button.append(key, ` ${one.label} `, value);
    button.setAttribute("aria-pressed", String(!owner.isHidden(index)));
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(owner.toggle(index))));
    list.append(button);
    return value;
  });
}
