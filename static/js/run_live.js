/** A run's page: charts, tiles and log, drawn from what the page brought and then from the run's event stream. */

import { rowsOf } from "./chart_points.js";
import { ChartStack } from "./charts.js";
import { exact, rounded, seconds } from "./run_figures.js";
import { LogPanel } from "./run_log.js";
import { chartsOf, checkpointLabel, waitSeries } from "./run_series.js";
import { RunStream } from "./run_stream.js";

const OPEN_END = 1.25; // a run by transactions has no planned end: its axis runs this much ahead of it
const FRAME = 16; // ms
const LATEST = 1000; // ms that a chart may wait for an idle moment
const LOOK_EVERY = 3000; // ms

const root = document.querySelector("[data-run-id]");
const course = JSON.parse(document.getElementById("course").textContent);

const samples = rowsOf(course.samples);
const rows = { samples, pool: rowsOf(course.pool) };
for (const kind of ["pooler", "server", "host", "generator"]) rows[kind] = rowsOf(course.observations[kind]);
const fresh = []; // samples not drawn yet: the page's other readers are told once they are
const due = new Set(); // keys of the charts of samples that lack their newest row
const later = new Set(); // keys of the others, drawn one by one when nothing else is to be done
let drawing = false;
let idling = false;
const drawnAt = new Map(); // key of a chart → when it was drawn last
let failed = samples.reduce((total, sample) => total + (sample.failed || 0), 0);
let timing = { left: course.left_s, at: performance.now() };

const CHARTS = chartsOf(rows, course.uncounted);
const AT_ONCE = ["tps", "latency"];
const KEYS = {
  pool: ["pool", "maxwait"],
  pooler: ["split", "pooler"],
  server: ["waits", "states", "transactions", "blocks", "io"],
  host: ["processors", "memory", "disks"],
  generator: ["generator"],
};

const status = () => document.querySelector("#run-head").dataset.runStatus;
const lastT = () => Math.max(...Object.values(rows).map((some) => some.at(-1)?.t ?? 0));
const stack = new ChartStack(course.span || (course.final ? Math.max(1, lastT()) : Math.max(10, lastT() * OPEN_END)));

const charts = document.querySelector("[data-charts]"); // none for a dataset being prepared
const chartOf = new Map();

function buildCharts() {
  stack.marks.push(...course.checkpoints.map(([t, ...causes]) => ({ t, label: checkpointLabel(...causes) })));
  markStages();
  for (const key of charts ? Object.keys(CHARTS) : []) {
    if ((AT_ONCE.includes(key) && !course.final) || CHARTS[key].series.some(hasCourse)) build(key);
    else charts.querySelector(`[data-chart="${key}"]`)?.setAttribute("hidden", "");
  }
  for (const key of chartOf.keys()) due.add(key);
  draw();
}

/** A mark where each stage of the load began, as far as the page's table knows. */
function markStages() {
  for (const { dataset } of document.querySelectorAll("[data-stage-began]")) {
    const mark = { t: Number(dataset.stageBegan), label: dataset.stageLabel, text: dataset.stageLabel };
    const known = stack.marks.list.find(({ label }) => label === mark.label);
    if (known)
      known.t = mark.t; // its first line came since
    else stack.marks.add([mark]);
    nameMarks();
  }
}

/** Whether it has a value to draw; of a run that is over a single look, at its start, tells nothing. */
const hasCourse = ({ rows: all, value }) =>
  all.some((row) => (value(row) ?? null) !== null) && !(course.final && all.length === 1 && all[0].t < 1);

/** Name the marks in the chart of throughput, also where the load got its stages by a change of its rate. */
function nameMarks() {
  CHARTS.tps.options = { ...CHARTS.tps.options, marksNamed: true };
  const drawn = chartOf.get("tps");
  if (drawn) drawn.marksNamed = true;
}

/** Show a chart, from the first value that it has. */
function build(key) {
  const element = charts.querySelector(`[data-chart="${key}"]`);
  if (!element || chartOf.has(key)) return;
  const { title, series, options } = CHARTS[key];
  charts.hidden = element.hidden = false;
  chartOf.set(key, stack.add(element, title, series, options));
}

/** Draw the charts that are due, or all where the axis grew: each costs milliseconds while the load has the cores. */
function draw() {
  const reached = lastT();
  if (charts) charts.hidden = !chartOf.size || (!reached && status() !== "starting" && status() !== "running");
  stack.reached = reached;
  const grown = stack.extend(course.span || course.final ? reached : reached * OPEN_END);
  const keys = grown ? AT_ONCE : [...due];
  stack.drawNew(keys.map((key) => chartOf.get(key)).filter(Boolean));
  for (const key of keys) drawnAt.set(key, performance.now());
  due.clear();
  if (grown) drawLater(...chartOf.keys());
  root.dataset.points = samples.length;
}

/** Draw what can wait, a chart at a time so that a sample never waits for more than one, and only what is in sight. */
function drawLater(...keys) {
  for (const key of keys) if (!AT_ONCE.includes(key)) later.add(key);
  if (idling || !later.size) return;
  idling = true;
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, FRAME));
  idle(drawNext, { timeout: LATEST });
}

function drawNext() {
  const [key] = later;
  later.delete(key);
  stack.reached = lastT();
  chartOf.get(key)?.drawIfSeen();
  idling = false;
  drawLater();
}

/** Draw now, or with the next frame where one was drawn within this one; then tell what came to stand there. */
function drawSoon(...keys) {
  for (const key of keys) due.add(key);
  if (drawing) return;
  const now = performance.now();
  if (keys.every((key) => now - (drawnAt.get(key) ?? -FRAME) > FRAME)) {
    drawNow();
    return;
  }
  drawing = true;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  drawing = false;
  draw();
  for (const sample of fresh.splice(0)) {
    const detail = { t: sample.t, at: performance.timeOrigin + performance.now() };
    root.dispatchEvent(new CustomEvent("pooldeck:sample", { bubbles: true, detail }));
  }
}

function tile(name, text, title) {
  const place = document.querySelector(`[data-tile="${name}"]`);
  if (!place) return;
  place.textContent = text;
  if (title) place.closest("dd").title = title;
}

const log = new LogPanel(document.querySelector("#log"));
if (!course.final) catchUp();

/** A sample in the words of pgbench 15 and later; the program's own line comes with its output at the end. */
function progressLine({ t, tps, latency_ms: latency, stddev_ms: stddev, failed: lost }) {
  const [mean, by] = [latency, stddev].map((number) => number?.toFixed(3) ?? "nan");
  const rate = tps?.toFixed(1) ?? "nan";
  return `progress: ${t.toFixed(1)} s, ${rate} tps, lat ${mean} ms stddev ${by}, ${lost ?? 0} failed`;
}

/** The output is stored every few seconds, samples at once: say those that the stored lines lack. */
function catchUp() {
  const said = Math.max(0, ...log.lines.map((line) => Number(line.match(/^progress: ([\d.]+) s/)?.[1] ?? 0)));
  for (const sample of samples) if (sample.t > said) log.add(progressLine(sample));
}

const handlers = {
  sample(sample) {
    samples.push(sample);
    fresh.push(sample);
    drawSoon("tps", "latency");
    failed += sample.failed || 0;
    if (course.span) timing = { left: Math.max(0, course.span - sample.t), at: performance.now() };
    tile("tps", rounded(sample.tps), exact(sample.tps, "tps"));
    tile("latency_ms", rounded(sample.latency_ms), exact(sample.latency_ms, "ms"));
    const format = ngettext("%(count)s transaction", "%(count)s transactions", failed);
    tile("failed", rounded(failed), interpolate(format, { count: failed }, true));
    log.add(progressLine(sample));
  },
  pool: (look) => take("pool", look),
  pooler: (look) => take("pooler", look),
  host: (look) => take("host", look),
  generator: (look) => take("generator", look),
  waits(look) {
    const { checkpoints_timed: timed, checkpoints_requested: requested } = look;
    if (timed || requested) stack.marks.push({ t: look.t, label: checkpointLabel(timed, requested) });
    take("server", look);
    nameWaits(look);
  },
  log({ line }) {
    log.add(line);
  },
  state(state) {
    const bar = document.querySelector("#run-progress");
    if (bar && state.progress_percent !== null) {
      bar.value = state.progress_percent;
      document.querySelector("[data-progress-text]").textContent = Math.round(state.progress_percent);
    }
    const shown = document.querySelector("#run-head").dataset;
    const stages = document.querySelectorAll("[data-stage-began]").length;
    const isOld = shown.runStatus !== state.status || stages !== state.stages;
    if (isOld || (state.cancel_requested && !shown.cancelRequested)) refresh();
  },
  end() {
    course.final = true;
    stack.shaded = Boolean(course.span);
    refresh();
    readAgain();
    log.replaceBy(root.dataset.output);
  },
};

/** A look at something beside the load: its row, and its charts when there is time for them. */
function take(kind, look) {
  rows[kind].push(look);
  for (const key of KEYS[kind]) {
    if (CHARTS[key].series.some(({ value }) => (value(look) ?? null) !== null)) build(key);
  }
  drawLater(...KEYS[kind]);
}

/** A wait that was not seen before gets a series of its own. */
function nameWaits({ waits }) {
  const known = new Set(CHARTS.waits.series.map(({ label }) => label.replace(": ", ":")));
  if (Object.keys(waits).every((name) => known.has(name))) return;
  CHARTS.waits.series = waitSeries(rows.server);
  build("waits");
  chartOf.get("waits").take(CHARTS.waits.series);
}

/** Percentiles of an interval may be known only after its line: at the end the page has them all. */
async function readAgain() {
  const answer = await fetch(root.dataset.url);
  if (!answer.ok) return;
  const ended = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("course");
  const { finer, samples: all } = JSON.parse(ended.textContent);
  samples.splice(0, samples.length, ...rowsOf(all));
  whole.samples = [...samples];
  course.finer = finer;
  drawSoon(...AT_ONCE);
}

/** Ask the server for the parts that follow the run's state: one place writes them, with and without JavaScript. */
function refresh() {
  window.htmx.ajax("GET", root.dataset.url, { target: root, swap: "none" });
}

function link(state) {
  const place = document.querySelector("[data-link-state]");
  const words = {
    live: gettext("live"),
    reconnecting: gettext("reconnecting…"),
    polling: gettext("every few seconds"),
    ended: "",
  };
  if (!place) return;
  place.dataset.link = state;
  place.textContent = words[state];
}

function countDown() {
  if (course.final || timing.left === null) return;
  tile("time", seconds(Math.ceil(Math.max(0, timing.left - (performance.now() - timing.at) / 1000))));
}

/**
 * A queued run's place changes without an event, the look at the end may have met a web process that was down, and while
 * the stream is refused the page asks for the state itself.
 */
function lookAgain() {
  const shown = status();
  if (document.hidden) return;
  if (shown === "queued" || connection === "polling" || (course.final && ["starting", "running"].includes(shown)))
    refresh();
}

const whole = Object.fromEntries(Object.entries(rows).map(([kind, list]) => [kind, [...list]]));
let asked = 0;

/** The rows that the page lacks of a long run: for a zoomed view they come from the server. */
async function viewed({ range: [from, to], isZoomed }) {
  if (!course.finer || !course.final) return;
  asked += 1;
  const mine = asked;
  let shown = whole;
  if (isZoomed) {
    const answer = await fetch(`${course.finer}?${new URLSearchParams({ from, to })}`);
    if (!answer.ok || mine !== asked) return;
    const { samples: finer, pool, observations } = await answer.json();
    shown = { samples: rowsOf(finer), pool: rowsOf(pool) };
    for (const [kind, table] of Object.entries(observations)) shown[kind] = rowsOf(table);
  }
  for (const [kind, list] of Object.entries(rows)) list.splice(0, list.length, ...(shown[kind] ?? []));
  CHARTS.waits.series = waitSeries(rows.server);
  chartOf.get("waits")?.take(CHARTS.waits.series);
  stack.draw();
}

stack.viewed = viewed;
let connection = ""; // of the stream, as it was heard last

buildCharts();
window.pooldeckRun = {
  points: () => samples.length,
  times: () => samples.map((sample) => sample.t),
  stack,
};
if (!course.final) {
  const follow = (kind, payload) => handlers[kind](payload);
  const stream = new RunStream(root.dataset.events, course.after, follow, (state) => {
    connection = state;
    link(state);
  });
  document.body.addEventListener("htmx:afterSettle", () => {
    link(connection); // the head is a new one
    markStages();
    drawSoon(...AT_ONCE);
    drawLater(...chartOf.keys());
  });
  stream.open();
  setInterval(countDown, 250);
  setInterval(lookAgain, LOOK_EVERY);
}
