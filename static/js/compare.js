/** The comparison's charts: each run a line in the color of its arm, all on one clock that starts with the load. */

import { rowsOf } from "./chart_points.js";
import { ChartStack } from "./charts.js";

function read() {
  return JSON.parse(document.getElementById("courses-rows").textContent).map(({ samples, ...course }) => ({
    ...course,
    rows: rowsOf(samples),
  }));
}

const courses = read();
const span = () => Math.max(1, ...courses.map((course) => Math.max(course.rows.at(-1)?.t ?? 0, course.span ?? 0)));
const stack = new ChartStack(span());
stack.shaded = false;

function series(name, unit) {
  return courses.map(({ label, valid, rows, color, means }) => ({
    label: valid ? label : interpolate(gettext("%(run)s (not valid)"), { run: label }, true),
    color: `--chart-${color}`,
    unit,
    rows,
    dashed: !valid,
    value: (row) => row[name],
    mean: () => means[name] ?? null,
  }));
}

const charts = document.querySelector("[data-charts]");
stack.add(charts.querySelector('[data-chart="tps"]'), gettext("Throughput"), series("tps", "tps"));
stack.add(charts.querySelector('[data-chart="latency"]'), gettext("Latency"), series("latency_ms", "ms"));
stack.draw();

// While a run goes on, htmx brings the figures and rows anew: the lines take them over where they are.
document.body.addEventListener("htmx:oobAfterSwap", ({ detail }) => {
  if (detail.target.id !== "courses") return;
  read().forEach(({ rows, means }, index) => {
    Object.assign(courses[index].means, means);
    courses[index].rows.length = 0;
    courses[index].rows.push(...rows);
  });
  stack.extend(span());
  stack.draw();
});
