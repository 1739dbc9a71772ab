/** What a pool or a pooler does: charts of what was recorded, or live from the figures that arrive each second. */

import { Backoff } from "./backoff.js";
import { listenToLayers, offerOwnZone } from "./chart_layers.js";
import { rowsOf, withGaps } from "./chart_points.js";
import { ChartStack } from "./charts.js";
import { axisLabel, momentWords } from "./course_clock.js";
import { addMarks } from "./mark_list.js";
import { exact, rounded, sized, waited } from "./run_figures.js";

const WINDOW = 300; // s that the live charts show
const KEPT = 3600; // s of live rows in memory
const SPARE = 600; // s more, so that old rows go in pieces: without its first point a line is made anew
const STILL_ONE_LINE = 25; // s: a look is recorded each ten, one may be missed
const FIRST_WAIT = 1000; // ms, doubled with each failure
const LONGEST_WAIT = 15000; // ms
const COMPARED = 2; // lines of a chart that earlier windows are drawn of
const PALE = { day: { shade: "45%" }, week: { shade: "45%", dashed: true } };
const REFUSALS = 3; // in a row: the stream has no place (503), or something on the way lets none through

const root = document.querySelector("[data-monitoring]");
const course = JSON.parse(document.getElementById("course").textContent);
const marks = JSON.parse(document.getElementById("marks")?.textContent ?? "[]");
const isLive = course.range === "live";

const line = (label, color, name, unit) => ({ label, color, name, unit });
const SERIES = {
  connections: [
    gettext("Connections"),
    line(gettext("clients waiting"), "--chart-4", "cl_waiting", "clients"),
    line(gettext("clients active"), "--chart-3", "cl_active", "clients"),
    line(gettext("servers active"), "--chart-5", "sv_active", "servers"),
    line(gettext("servers idle"), "--chart-6", "sv_idle", "servers"),
    line(gettext("servers used"), "--chart-2", "sv_used", "servers"),
  ],
  sessions: [
    gettext("Connections"),
    line(gettext("clients active"), "--chart-3", "cl_active", "clients"),
    line(gettext("servers active"), "--chart-5", "sv_active", "servers"),
    line(gettext("servers idle"), "--chart-6", "sv_idle", "servers"),
  ],
  rates: [
    gettext("Throughput"),
    line(gettext("queries"), "--chart-1", "queries_per_s", "queries/s"),
    line(gettext("transactions"), "--chart-2", "transactions_per_s", "transactions/s"),
  ],
  times: [
    gettext("Average times"),
    line(gettext("query"), "--chart-1", "query_ms", "ms"),
    line(gettext("transaction"), "--chart-2", "transaction_ms", "ms"),
    line(gettext("wait"), "--chart-4", "wait_ms", "ms"),
  ],
  maxwait: [gettext("Longest wait"), line(gettext("longest wait"), "--chart-4", "maxwait_ms", "ms")],
  bytes: [
    gettext("Traffic"),
    line(gettext("in"), "--chart-5", "received_bytes_per_s", "bytes/s"),
    line(gettext("out"), "--chart-3", "sent_bytes_per_s", "bytes/s"),
  ],
};

const missed = isLive ? 2.5 : 1.5; // steps: an observation may be late, a minute is there or not
const gapsShown = (table) => withGaps(rowsOf(table), course.step * missed, course.step);
const rows = gapsShown(course);

const now = () => Date.now() / 1000;
const span = isLive ? [now() - WINDOW, now()] : [course.begins, course.ends];
const clock = {
  label: axisLabel(course.zone, span[1] - span[0]),
  moment: momentWords(course.zone, isLive ? 1 : course.step),
};
const stack = new ChartStack(span[1], { start: span[0], step: isLive ? 0 : course.step, ...clock });
stack.shaded = false;
stack.marks.push(...marks);
const earlier = (course.compared ?? []).map((one) => ({ ...one, rows: gapsShown(one) }));

/** A recorded point's band reaches from its average to its maximum; a live one is one value. */
function series({ label, color, name, unit }) {
  const value = (row) => row[name] ?? null;
  const band = (row) => (value(row) === null ? null : [value(row), row[`${name}_max`] ?? value(row)]);
  return { label, color, unit, rows, value, ...(isLive ? {} : { band }) };
}

/** The same line in earlier windows: paler, without an entry in the legend. */
function earlierSeries({ label, color, name, unit }) {
  return earlier.map((one) => ({
    label: interpolate(gettext("%(series)s, %(time)s"), { series: label, time: one.label }, true),
    color,
    unit,
    rows: one.rows,
    value: (row) => row[name] ?? null,
    quiet: true,
    group: one.name,
    ...PALE[one.name],
  }));
}

function build() {
  const charts = root.querySelector("[data-charts]");
  charts.hidden = !isLive && !rows.length;
  for (const element of charts.querySelectorAll("[data-chart]")) {
    const [title, ...lines] = SERIES[element.dataset.chart];
    const pale = lines.slice(0, COMPARED).flatMap(earlierSeries);
    stack.add(element, title, [...lines.map(series), ...pale], { marksNamed: !stack.charts.length });
  }
  listenToLayers(root, stack);
  offerOwnZone(root);
  stack.draw();
}

const WRITTEN = { "bytes/s": sized, ms: waited };

function writeTiles(figures) {
  for (const place of root.querySelectorAll("[data-figure]")) {
    const { figure, unit } = place.dataset;
    const value = figures[figure];
    place.querySelector("span").textContent = (WRITTEN[unit] ?? rounded)(value);
    place.title = value === null ? gettext("nothing to tell") : exact(value, unit).trim();
    const warns = value > 0 && (figure === "cl_waiting" || figure === "maxwait_ms");
    place.parentElement.classList.toggle("pd-tile-warn", warns);
  }
}

function writeError(text) {
  const place = root.querySelector("[data-look-error]");
  const tiles = root.querySelector("[data-tiles]");
  if (!place || !tiles) return;
  place.hidden = !text;
  tiles.hidden = Boolean(text);
  place.textContent = text ? interpolate(gettext("No figures: %(error)s"), { error: text }, true) : "";
}

function take(figures) {
  const last = rows[rows.length - 1];
  if (last && figures.t <= last.t) return;
  if (last && figures.t - last.t > STILL_ONE_LINE) rows.push({ t: last.t + 1 });
  rows.push(figures.error ? { t: figures.t } : figures);
  if (rows[0].t < figures.t - KEPT - SPARE)
    rows.splice(
      0,
      rows.findIndex(({ t }) => t >= figures.t - KEPT),
    );
  writeError(figures.error);
  if (!figures.error) writeTiles(figures);
  stack.slide(figures.t - WINDOW, figures.t);
  root.dataset.seen = Number(root.dataset.seen) + 1;
}

const takeMarks = (list) => addMarks(root, stack, list, clock.moment);

/** Take the rows and the tiles of the page as the server renders it now; a server that is away is asked again later. */
async function poll() {
  try {
    const answer = await fetch(window.location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const row of rowsOf(JSON.parse(page.getElementById("course").textContent))) take(row);
    takeMarks(JSON.parse(page.getElementById("marks")?.textContent ?? "[]"));
    for (const name of ["[data-look-error]", "[data-tiles]"]) {
      const now = page.querySelector(`[data-monitoring] ${name}`);
      if (now) root.querySelector(name)?.replaceWith(now);
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // what fetch says of a server that does not answer
  }
}

/** One stream, only while somebody looks at the page: another tab costs neither a connection nor a console's time. */
class Feed {
  constructor(url) {
    this.marksSince = root.dataset.marksSince;
    Object.assign(this, { url, source: null, timer: 0, refusals: 0, backoff: new Backoff(FIRST_WAIT, LONGEST_WAIT) });
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    if (!document.hidden) this.open();
  }

  open() {
    this.close();
    this.source = new EventSource(`${this.url}?marks=${this.marksSince}`);
    this.source.addEventListener("figures", (event) => this.heard(event));
    this.source.addEventListener("marks", (event) => this.marked(JSON.parse(event.data)));
    this.source.addEventListener("error", () => this.again());
  }

  heard(event) {
    this.backoff.reset();
    this.refusals = 0;
    tell(gettext("live"), true);
    take(JSON.parse(event.data));
  }

  /** A stream that is opened again brings the marks that came since. */
  marked({ at, marks }) {
    this.marksSince = at;
    takeMarks(marks);
  }

  /** Try again after a while; where the stream can't be held, the page is asked meanwhile for what it shows. */
  again() {
    this.close();
    this.refusals += 1;
    const polls = this.refusals >= REFUSALS;
    tell(polls ? gettext("every few seconds") : gettext("reconnecting…"), false);
    if (polls) poll();
    this.timer = setTimeout(() => this.open(), this.backoff.next());
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}

function tell(words, isLive) {
  const place = root.querySelector("[data-live-state]");
  if (!place) return;
  place.textContent = words;
  place.classList.toggle("pd-live-lost", !isLive);
}

build();
window.pooldeckCharts = stack;
if (isLive) window.pooldeckFeed = new Feed(root.dataset.source);
