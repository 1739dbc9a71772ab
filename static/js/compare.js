/** The comparison's charts: each run a line of its own, all on one clock that starts with the load. */

import { ChartStack } from "./charts.js";

const courses = JSON.parse(document.getElementById("courses").textContent).map(({ samples, ...course }) => ({
  ...course,
  rows: samples.rows.map((row) => Object.fromEntries(samples.columns.map((name, index) => [name, row[index]]))),
}));

const last = ({ rows, span }) => Math.max(rows.at(-1)?.t ?? 0, span ?? 0);
const stack = new ChartStack(Math.max(1, ...courses.map(last)));
stack.shaded = false;

function series(name, unit) {
  return courses.map(({ label, valid, rows }, index) => ({
    label: valid ? label : `${label} (not valid)`,
    colour: `--chart-${index + 1}`,
    unit,
    rows,
    dashed: !valid,
    value: (row) => row[name],
  }));
}

const charts = document.querySelector("[data-charts]");
charts.hidden = false;
stack.add(charts.querySelector('[data-chart="tps"]'), "Throughput", series("tps", "tps"));
stack.add(charts.querySelector('[data-chart="latency"]'), "Latency", series("latency_ms", "ms"));
stack.draw();
