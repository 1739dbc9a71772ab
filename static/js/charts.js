/**
 * Stacked charts that share one time axis, one crosshair and one zoom. A stack holds charts, a chart holds series,
 * a series reads its rows (`{t, …}`, in order of t) from the caller's own array: to add points, push and draw.
 */

import { nearest, thinned, within } from "./charts_thin.js";
import { exact, rounded, seconds, tick } from "./run_figures.js";

const AXIS_WIDTH = 58; // px: every chart's y axis is as wide, so that the time axes line up
const TICK_WIDTH = 88; // px for a label and its distance to the next
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400]; // s
const DRAG_LEAST = 6; // px: a shorter drag is a click
const EDGE = { hidden: false, pointRadius: 0, borderWidth: 0 };

const probe = document.createElement("i");
const colours = new Map();

/** A token of the style sheet as the canvas understands it; the probe resolves light-dark() for the theme shown. */
function colour(name, opacity = "100%") {
  const key = `${name} ${opacity}`;
  if (!colours.has(key)) {
    probe.style.color = `color-mix(in srgb, var(${name}) ${opacity}, transparent)`;
    colours.set(key, getComputedStyle(probe).color);
  }
  return colours.get(key);
}

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
    probe.hidden = true;
    document.body.append(probe);
    watchTheme(() => this.repaint());
  }

  /** Put a chart into `root`, an element with `data-chart`; see `TimeChart` for the words. */
  add(root, title, series) {
    const chart = new TimeChart(this, root, title, series);
    this.charts.push(chart);
    return chart;
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
    for (const chart of this.charts) chart.readOut();
  }

  repaint() {
    colours.clear();
    for (const chart of this.charts) chart.paint();
    this.draw();
  }
}

/** One chart. A series is `{label, colour, unit, rows, value(row), band?(row) → [low, high], dashed?}`. */
class TimeChart {
  constructor(stack, root, title, series) {
    Object.assign(this, { stack, root, title, series });
    this.canvas = root.querySelector("canvas");
    this.undoButton = root.querySelector("[data-undo-zoom]");
    this.legend = buildLegend(this);
    this.lines = series.map(linesOf);
    this.chart = new window.Chart(this.canvas, configuration(this));
    this.paint();
    listen(this);
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
      line.borderColor = line.backgroundColor = colour(one.colour);
      if (top) top.backgroundColor = colour(one.colour, "22%");
    });
  }

  draw() {
    const [from, to] = this.stack.range;
    const room = Math.max(400, this.canvas.parentNode.clientWidth); // rows: a pixel each, but no gap of a history thinned away
    Object.assign(this.chart.options.scales.x, { min: from, max: to });
    this.series.forEach((one, index) => {
      fillIn(one, this.lines[index], thinned(within(one.rows, this.stack.range), room, one.value));
    });
    this.chart.update("none");
    this.readOut(false);
  }

  /** Write the figures at the crosshair, or the latest, beside the legend's names. */
  readOut(redraw = true) {
    const { cursor } = this.stack;
    this.series.forEach((one, index) => {
      const row = cursor === null ? one.rows[one.rows.length - 1] : nearest(one.rows, cursor);
      const value = row ? one.value(row) : null;
      this.legend[index].textContent = rounded(value);
      this.legend[index].title = row ? `${exact(value, one.unit)} at ${this.stack.moment(row.t)}` : "";
    });
    if (redraw) this.chart.draw();
  }

  timeAt(x) {
    return this.chart.scales.x.getValueForPixel(x);
  }

  /** Show or hide a series; whether it is shown now. */
  toggle(index) {
    for (const line of this.lines[index]) line.hidden = !line.hidden;
    this.draw();
    return !this.lines[index][0].hidden;
  }
}

/** The datasets of a series: its line and, where it has a band, the band's edges. They are kept: new ones cost time. */
function linesOf(series) {
  const line = { data: [], hidden: false, borderWidth: 1.75, borderDash: series.dashed ? [6, 4] : [], pointRadius: 0 };
  if (!series.band) return [line];
  return [line, { ...EDGE, data: [], fill: false }, { ...EDGE, data: [], fill: "-1" }];
}

function fillIn(series, [line, low, high], rows) {
  line.data = rows.map((row) => ({ x: row.t, y: series.value(row) }));
  line.pointRadius = rows.length < 3 ? 2.5 : 0; // a line needs two points to be seen
  if (!low) return;
  const edges = rows.map((row) => series.band(row) ?? [null, null]);
  low.data = rows.map((row, at) => ({ x: row.t, y: edges[at][0] }));
  high.data = rows.map((row, at) => ({ x: row.t, y: edges[at][1] }));
}

function configuration(owner) {
  const axis = { ticks: { maxRotation: 0 }, grid: {}, border: {} };
  return {
    type: "line",
    data: { datasets: owner.lines.flat() },
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
          grace: "5%",
          afterFit: (scale) => Object.assign(scale, { width: AXIS_WIDTH }),
          ticks: { maxTicksLimit: 5, callback: tick },
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

/** What is drawn beside the lines: the time not reached yet, the crosshair, the span being dragged. */
function decorations(owner) {
  return {
    id: "pooldeck",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const { reached, shaded, span } = owner.stack;
      if (shaded && reached < span) fill(ctx, chartArea, scales.x, [reached, span], "--chart-shade");
    },
    afterDatasetsDraw({ ctx, chartArea, scales }) {
      if (owner.dragged) fill(ctx, chartArea, scales.x, owner.dragged, "--chart-selection");
      if (owner.stack.cursor !== null) crosshair(ctx, chartArea, scales.x.getPixelForValue(owner.stack.cursor));
    },
  };
}

function fill(ctx, area, axis, [from, to], name) {
  const clamp = (x) => Math.min(area.right, Math.max(area.left, x));
  const [left, right] = [clamp(axis.getPixelForValue(from)), clamp(axis.getPixelForValue(to))];
  ctx.save();
  ctx.fillStyle = colour(name);
  ctx.fillRect(Math.min(left, right), area.top, Math.abs(right - left), area.bottom - area.top);
  ctx.restore();
}

function crosshair(ctx, area, x) {
  if (x < area.left || x > area.right) return;
  ctx.save();
  ctx.strokeStyle = colour("--chart-text");
  ctx.setLineDash([3, 3]);
  ctx.beginPath();
  ctx.moveTo(x, area.top);
  ctx.lineTo(x, area.bottom);
  ctx.stroke();
  ctx.restore();
}

function buildLegend(owner) {
  const list = owner.root.querySelector("[data-legend]");
  return owner.series.map((one, index) => {
    const button = document.createElement("button");
    const value = document.createElement("output");
    const key = document.createElement("i");
    key.style.background = `var(${one.colour})`;
    Object.assign(button, { type: "button", className: "chart-key", title: "show or hide" });
    button.append(key, ` ${one.label} `, value);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => button.setAttribute("aria-pressed", String(owner.toggle(index))));
    list.append(button);
    return value;
  });
}

function listen(owner) {
  const { canvas, stack, root } = owner;
  owner.undoButton.addEventListener("click", () => stack.undo());
  root.querySelector("[data-save-image]").addEventListener("click", () => save(owner));
  canvas.addEventListener("dblclick", () => stack.undo());
  canvas.addEventListener("pointermove", (event) => move(owner, event));
  canvas.addEventListener("pointerdown", (event) => press(owner, event));
  canvas.addEventListener("pointerup", (event) => release(owner, event));
  canvas.addEventListener("pointercancel", () => Object.assign(owner, { dragged: null }));
  canvas.addEventListener("pointerleave", () => owner.dragged || stack.point(null));
  canvas.addEventListener("keydown", (event) => steer(stack, event));
}

function press(owner, event) {
  if (event.button !== 0) return;
  owner.canvas.setPointerCapture(event.pointerId);
  owner.pressedAt = event.offsetX;
}

function move(owner, event) {
  const t = owner.timeAt(event.offsetX);
  if (owner.pressedAt !== undefined && event.buttons) owner.dragged = [owner.timeAt(owner.pressedAt), t];
  owner.stack.point(t);
}

function release(owner, event) {
  const { dragged, pressedAt, stack } = owner;
  Object.assign(owner, { dragged: null, pressedAt: undefined });
  if (!dragged || Math.abs(event.offsetX - pressedAt) < DRAG_LEAST) return;
  const [from, to] = dragged.sort((a, b) => a - b);
  stack.zoom([Math.max(stack.start, from), Math.min(stack.span, to)]);
}

/** The keyboard's way: arrows move the crosshair, + zooms to its surroundings, Escape undoes. */
function steer(stack, event) {
  const [from, to] = stack.range;
  const step = (to - from) / 50;
  const at = stack.cursor ?? from;
  const quarter = (to - from) / 4;
  const moves = {
    ArrowLeft: () => stack.point(Math.max(from, at - step)),
    ArrowRight: () => stack.point(Math.min(to, at + step)),
    "+": () => stack.zoom([Math.max(stack.start, at - quarter), Math.min(stack.span, at + quarter)]),
    Escape: () => stack.undo(),
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  moves[event.key]();
}

/** Save the chart with its title and legend, on the page's ground, as a PNG. */
function save(owner) {
  const ratio = owner.chart.currentDevicePixelRatio;
  const image = document.createElement("canvas");
  const ctx = image.getContext("2d");
  const head = 34 * ratio;
  Object.assign(image, { width: owner.canvas.width, height: owner.canvas.height + head });
  ctx.fillStyle = colour("--chart-ground");
  ctx.fillRect(0, 0, image.width, image.height);
  ctx.font = `${13 * ratio}px sans-serif`;
  ctx.fillStyle = colour("--chart-text");
  ctx.fillText(`${owner.title}: ${owner.series.map((one) => one.label).join(", ")}`, 12 * ratio, 22 * ratio);
  ctx.drawImage(owner.canvas, 0, head);
  image.toBlob((blob) => download(blob, `${document.title} ${owner.title}.png`));
}

function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.-]+/g, "-").toLowerCase();
  link.click();
  URL.revokeObjectURL(link.href);
}

function watchTheme(react) {
  new MutationObserver(react).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", react);
}
