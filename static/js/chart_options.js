/** How Chart.js and its plugin for zooming are set up for a chart of a stack. */

import { decorations } from "./chart_decorations.js";
import { color } from "./charts_colors.js";
import { tick } from "./run_figures.js";

export const AXIS_WIDTH = 58; // px: every chart's y axis is as wide, so that the time axes line up
const TICK_WIDTH = 88; // px for a label and its distance to the next
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400]; // s
export const THINNED_FROM = 1000; // points of a line: Chart.js then draws one for each pixel
const DRAG_LEAST = 6; // px: a shorter drag is a click

/** The configuration of `owner`, a TimeChart; `onZoom` gets the span of time that was dragged over. */
export function configuration(owner, onZoom) {
  const axis = { ticks: { maxRotation: 0 }, grid: {}, border: {} };
  return {
    type: "line",
    data: { datasets: [] },
    plugins: [decorations(owner)],
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      spanGaps: false,
      responsive: true,
      maintainAspectRatio: false,
      events: [],
      layout: { padding: { right: 12, top: 4 } },
      plugins: {
        legend: { display: false },
        tooltip: { enabled: false },
        decimation: { enabled: !owner.stacked, algorithm: "lttb", threshold: THINNED_FROM },
        zoom: { zoom: { mode: "x", drag: { enabled: true, threshold: DRAG_LEAST }, onZoom: zoomed(onZoom) } },
      },
      scales: {
        x: { ...axis, type: "linear", afterBuildTicks: stepEvenly, ticks: timeTicks(owner.stack) },
        y: {
          ...axis,
          beginAtZero: true,
          max: owner.most,
          stacked: owner.stacked,
          grace: "5%",
          afterFit: (scale) => Object.assign(scale, { width: AXIS_WIDTH }),
          ticks: {
            maxTicksLimit: 5,
            callback: tick,
            precision: owner.counts ? 0 : undefined,
            includeBounds: !owner.most,
          },
        },
      },
    },
  };
}

/** Give a chart the colors of the theme. */
export function paintFrame({ options: { scales, plugins } }) {
  for (const axis of [scales.x, scales.y]) {
    axis.ticks.color = color("--chart-text");
    axis.grid.color = color("--chart-grid");
    axis.border.color = color("--chart-grid");
  }
  plugins.zoom.zoom.drag.backgroundColor = color("--chart-selection");
}

const zoomed =
  (onZoom) =>
  ({ chart }) =>
    onZoom([chart.scales.x.min, chart.scales.x.max]);

function timeTicks(stack) {
  return { maxRotation: 0, autoSkip: false, callback: (t) => stack.label(t) };
}

/** Ticks at seconds, minutes and hours as clocks have them, as many as there is room for. */
function stepEvenly(scale) {
  const room = Math.max(2, (scale.chart.width - AXIS_WIDTH) / TICK_WIDTH);
  scale.ticks = evenly(scale.min, scale.max, room).map((value) => ({ value }));
}

/** Moments from `min` to `max` at whole steps of a clock, `room` of them at the most. */
export function evenly(min, max, room) {
  const step = STEPS.find((one) => (max - min) / one <= room) ?? STEPS.at(-1);
  const first = Math.ceil(min / step);
  const count = Math.floor(max / step) - first + 1;
  return Array.from({ length: count }, (_, at) => Number(((first + at) * step).toFixed(3)));
}
