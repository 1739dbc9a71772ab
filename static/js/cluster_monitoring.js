/** The poolers of a cluster beside each other: one figure, a chart for each of them, and one scale. */

import { listenToLayers, offerOwnZone } from "./chart_layers.js";
import { Marks } from "./chart_marks.js";
import { rowsOf, withGaps } from "./chart_points.js";
import { ChartStack } from "./charts.js";
import { axisLabel, momentWords } from "./course_clock.js";

const ROOM = 1.05; // of the highest value, so that no line runs along the upper edge
const MISSED = 1.5; // steps

const root = document.querySelector("[data-cluster-monitoring]");
const { begins, ends, step, zone, label, unit, most, charts } = JSON.parse(
  document.getElementById("course").textContent,
);
const clock = { label: axisLabel(zone, ends - begins), moment: momentWords(zone, step) };
const stack = new ChartStack(ends, { start: begins, step, ...clock });
stack.shaded = false;

for (const element of root.querySelectorAll("[data-chart]")) {
  const { name, rows, marks: list } = charts[element.dataset.chart];
  const marks = new Marks();
  marks.push(...list);
  const drawn = withGaps(rowsOf({ columns: ["t", "value"], rows }), step * MISSED, step);
  const series = { label, unit, color: "--chart-1", rows: drawn, value: (row) => row.value ?? null };
  stack.add(element, name, [series], { marks, most: ROOM * most || 1 });
}
listenToLayers(root, stack);
offerOwnZone(root);
stack.draw();
window.pooldeckCharts = stack;
