/**
 * Stacked charts that share one time axis, one crosshair and one zoom. A stack holds charts, a chart holds series,
 * a series reads its rows (`{t, …}`, in order of t) from the caller's own array: to add points, push and draw.
 */

import { colour, mixed, onTheme } from "./charts_colours.js";
import { decorations } from "./charts_decorations.js";
import { listen } from "./charts_pointing.js";
import { nearest, thinned, within } from "./charts_thin.js";
import { exact, rounded, seconds, tick } from "./run_figures.js";

const AXIS_WIDTH = 58; // px: every chart's y axis is as wide, so that the time axes line up
const TICK_WIDTH = 88; // px for a label and its distance to the next
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400]; // s
const EDGE = { hidden: false, pointRadius: 0, borderWidth: 0 };
const NEAR = "150px"; // of the window: a chart so near to it is drawn as if it were in sight
const COUNTED = ["connections", "sessions", "clients", "servers"]; // no halves on their axes
const UNSEEN = 5000; // ms after which a chart out of sight is drawn again

/**
 * Charts under one clock. `span` is the whole planned time in seconds; what lies beyond `reached` is shaded. A clock
 * of its own has a `start`, a `label` for the axis and the words for a `moment`.
 */
export class ChartStack {
  constructor(span, { start = 0, label = seconds, moment = (t) => `${t} s` } = {}) {
    Object.assign(this, { start, label, moment });
    this.charts = [];
    this.history = [];
    this.span = span;
    this.range = [start, span];
    this.reached = 0;
    this.shaded = true;
    this.cursor = null;
    this.marks = []; // moments that all charts show: `{t, label}`
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

  /** Charts that come into sight get what they missed meanwhile. */
  see(seen) {
    for (const { target, isIntersecting } of seen) {
      const chart = this.charts.find((one) => one.root === target);
      chart.inSight = isIntersecting;
      if (isIntersecting) chart.drawIfSeen();
    }
  }

  /** Draw what the series hold by now, in one pass and without animation. */
  draw() {
    for (const chart of this.charts) chart.draw();
  }

  /** Make the axis longer (a run without planned end grows), a zoomed view excepted; whether it is longer now. */
  extend(span) {
    if (span <= this.span) return false;
    if (!this.history.length) this.range = [this.start, span];
    this.span = span;
    return true;
  }

  /** Show another span of time, a zoomed view excepted, with what the series hold by now. */
  slide(start, span) {
    Object.assign(this, { start, span });
    this.show(this.range);
  }

  zoom(range) {
    this.history.push(this.range);
    this.show(range);
  }

  undo() {
    if (this.history.length) this.show(this.history.pop());
  }

  show(range) {
    this.range = this.history.length ? range : [this.start, this.span];
    for (const chart of this.charts) chart.undoButton.hidden = !this.history.length;
    this.draw();
  }

  /** Move the crosshair of all charts to a time, or away (null). */
  point(t) {
    this.cursor = t;
    for (const chart of this.charts) chart.readOut(chart.inSight);
  }

  repaint() {
    for (const chart of this.charts) chart.paint();
    this.draw();
  }
}

/**
 * One chart. A series is `{label, colour, unit, rows, value(row), band?(row) → [low, high], dashed?}`; with `shade`
 * (as "60%") its colour is that much weaker, `optional` ones are named once they have a value but 0. In a `stacked`
 * chart areas lie on each other, all from the same rows, but for the lines of series that are `alone`. `marksNamed`:
 * the moments that all charts mark are named in this one. `most`: where the axis ends.
 */
class TimeChart {
  constructor(stack, root, title, series, { stacked = false, marksNamed = false, most }) {
    const counts = series.length > 0 && series.every(({ unit }) => COUNTED.includes(unit));
    Object.assign(this, { stack, root, title, stacked, marksNamed, most, counts, series: [], legend: [], lines: [] });
    this.inSight = true; // until the browser says otherwise
    this.drawnAt = -UNSEEN;
    this.canvas = root.querySelector("canvas");
    this.undoButton = root.querySelector("[data-undo-zoom]");
    this.chart = new window.Chart(this.canvas, configuration(this));
    this.take(series);
    listen(this);
  }

  /** Take these series in place of those before; what was hidden stays hidden. */
  take(series) {
    const hidden = new Set(this.series.filter((_, index) => this.lines[index][0].hidden).map(({ label }) => label));
    this.series = series;
    this.lines = series.map((one) => linesOf(one, this.stacked && !one.alone));
    this.chart.data.datasets = this.lines.flat();
    for (const [index, { label }] of series.entries()) if (hidden.has(label)) this.hide(index, true);
    this.legend = buildLegend(this);
    this.paint();
  }

  /** Take the colours of the theme. */
  paint() {
    const { x, y } = this.chart.options.scales;
    for (const axis of [x, y]) {
      axis.ticks.color = colour("--chart-text");
      axis.grid.color = colour("--chart-grid");
      axis.border.color = colour("--chart-grid");
    }
    this.series.forEach((one, index) => {
      const [line, , top] = this.lines[index];
      line.borderColor = colour(one.colour, one.shade);
      line.backgroundColor = line.fill ? colour(one.colour, one.shade ?? "80%") : line.borderColor;
      if (top) top.backgroundColor = colour(one.colour, "22%");
    });
  }

  /** Draw what the series hold by now; out of sight that is done now and then only. */
  drawIfSeen() {
    if (this.inSight || performance.now() - this.drawnAt > UNSEEN) this.draw();
  }

  draw() {
    const [from, to] = this.stack.range;
    Object.assign(this.chart.options.scales.x, { min: from, max: to });
    const radii = this.lines.map(([line]) => line.pointRadius);
    this.series.forEach((one, index) => {
      const filled = fillIn(one, this.lines[index], this.shown(one));
      if (one.optional) this.legend[index].parentNode.hidden = !filled;
    });
    // "none" is the cheapest, and keeps the points as they were
    this.chart.update(this.lines.every(([line], index) => line.pointRadius === radii[index]) ? "none" : "default");
    this.drawnAt = performance.now();
    this.readOut(false);
  }

  /** The rows of a series that are drawn: of areas on each other the same ones, chosen by their height together. */
  shown(series) {
    // rows: a pixel each, but no gap of a history thinned away
    const room = Math.max(400, this.canvas.parentNode.clientWidth);
    const height = (row) => this.series.reduce((sum, one) => sum + (one.alone ? 0 : (one.value(row) ?? 0)), 0);
    const value = this.stacked && !series.alone ? height : series.value;
    return thinned(within(series.rows, this.stack.range), room, value);
  }

  /** Write beside the legend's names the figures at the crosshair, else a series' `mean()`, else the latest ones. */
  readOut(redraw = true) {
    const { cursor } = this.stack;
    for (const [index, one] of this.series.entries()) {
      const mean = cursor === null ? one.mean?.() : null;
      if (mean != null) {
        this.nameMean(index, mean);
        continue;
      }
      const row = cursor === null ? one.rows[one.rows.length - 1] : nearest(one.rows, cursor);
      const value = row ? one.value(row) : null;
      this.legend[index].textContent = rounded(value);
      this.legend[index].title = row ? `${exact(value, one.unit)} at ${this.stack.moment(row.t)}` : "";
    }
    if (redraw) this.chart.draw();
  }

  /** A run that has ended is told by what it reached as a whole, not by its last interval. */
  nameMean(index, mean) {
    this.legend[index].textContent = rounded(mean);
    this.legend[index].title = `${exact(mean, this.series[index].unit)} over the whole run`;
  }

  timeAt(x) {
    return this.chart.scales.x.getValueForPixel(x);
  }

  /** Show or hide a series; whether it is shown now. */
  toggle(index) {
    this.hide(index, !this.lines[index][0].hidden);
    this.draw();
    return !this.lines[index][0].hidden;
  }

  hide(index, hidden) {
    for (const line of this.lines[index]) line.hidden = hidden;
  }
}

/** The datasets of a series: its line and, where it has a band, the band's edges. They are kept: new ones cost time. */
function linesOf(series, isArea) {
  const line = { data: [], hidden: false, borderWidth: 1.75, borderDash: series.dashed ? [6, 4] : [], pointRadius: 0 };
  if (isArea) Object.assign(line, { fill: "stack", borderWidth: 0.5 });
  if (series.alone) line.stack = series.label;
  if (!series.band) return [line];
  return [line, { ...EDGE, data: [], fill: false }, { ...EDGE, data: [], fill: "-1" }];
}

/** Put the rows into a series' datasets; whether any of them has a value but 0. */
function fillIn(series, [line, low, high], rows) {
  line.data = rows.map((row) => ({ x: row.t, y: series.value(row) ?? null }));
  line.pointRadius = rows.length < 3 ? 2.5 : 0; // a line needs two points to be seen
  const filled = line.data.some(({ y }) => y);
  if (!low) return filled;
  const edges = rows.map((row) => series.band(row) ?? [null, null]);
  low.data = rows.map((row, at) => ({ x: row.t, y: edges[at][0] }));
  high.data = rows.map((row, at) => ({ x: row.t, y: edges[at][1] }));
  return filled;
}

function configuration(owner) {
  const axis = { ticks: { maxRotation: 0 }, grid: {}, border: {} };
  return {
    type: "line",
    data: { datasets: [] },
    plugins: [decorations(owner)],
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      responsive: true,
      maintainAspectRatio: false,
      events: [],
      layout: { padding: { right: 12, top: 4 } },
      plugins: { legend: { display: false }, tooltip: { enabled: false } },
      scales: {
        x: { ...axis, type: "linear", afterBuildTicks: stepEvenly, ticks: timeTicks(owner.stack) },
        y: {
          ...axis,
          beginAtZero: true,
          max: owner.most,
          stacked: owner.stacked,
          grace: "5%",
          afterFit: (scale) => Object.assign(scale, { width: AXIS_WIDTH }),
          ticks: { maxTicksLimit: 5, callback: tick, precision: owner.counts ? 0 : undefined },
        },
      },
    },
  };
}

function timeTicks(stack) {
  return { maxRotation: 0, autoSkip: false, callback: (t) => stack.label(t) };
}

/** Ticks at seconds, minutes and hours as clocks have them, as many as there is room for. */
function stepEvenly(scale) {
  const room = Math.max(2, (scale.chart.width - AXIS_WIDTH) / TICK_WIDTH);
  const step = STEPS.find((one) => (scale.max - scale.min) / one <= room) ?? STEPS.at(-1);
  const first = Math.ceil(scale.min / step);
  const count = Math.floor(scale.max / step) - first + 1;
  scale.ticks = Array.from({ length: count }, (_, at) => ({ value: Number(((first + at) * step).toFixed(3)) }));
}

function buildLegend(owner) {
  const list = owner.root.querySelector("[data-legend]");
  list.replaceChildren();
  return owner.series.map((one, index) => {
    const button = document.createElement("button");
    const value = document.createElement("output");
    const key = document.createElement("i");
    key.style.background = mixed(one.colour, one.shade ?? "100%");
    Object.assign(button, {
      type: "button",
      className: "chart-key",
      title: "Show or hide; the figure is the last one, or that at the cursor",
    });
    button.append(key, ` ${one.label} `, value);
    button.setAttribute("aria-pressed", String(!owner.lines[index][0].hidden));
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(owner.toggle(index))));
    list.append(button);
    return value;
  });
}
