/** What is drawn beside a chart's lines. */

import { colour } from "./charts_colours.js";

/** The time not reached yet, moments that are marked, the crosshair, the span being dragged. */
export function decorations(owner) {
  return {
    id: "pooldeck",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const { reached, shaded, span } = owner.stack;
      if (shaded && reached < span) fill(ctx, chartArea, scales.x, [reached, span], "--chart-shade");
    },
    afterDatasetsDraw({ ctx, chartArea, scales }) {
      drawMarks(ctx, chartArea, scales.x, owner);
      if (owner.dragged) fill(ctx, chartArea, scales.x, owner.dragged, "--chart-selection");
      if (owner.stack.cursor !== null) upright(ctx, chartArea, scales.x.getPixelForValue(owner.stack.cursor), [3, 3]);
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

function drawMarks(ctx, area, axis, { stack, marksNamed }) {
  for (const { t, label } of stack.marks) {
    const x = axis.getPixelForValue(t);
    upright(ctx, area, x, [1, 2]);
    if (marksNamed && x >= area.left && x <= area.right) name(ctx, area, x, label);
  }
}

/** Beside its line, on the side with more room. */
function name(ctx, area, x, label) {
  const left = x < (area.left + area.right) / 2;
  ctx.save();
  ctx.fillStyle = colour("--chart-text");
  ctx.font = "11px sans-serif";
  ctx.textAlign = left ? "left" : "right";
  ctx.fillText(label, x + (left ? 4 : -4), area.top + 9);
  ctx.restore();
}

function upright(ctx, area, x, dashes) {
  if (x < area.left || x > area.right) return;
  ctx.save();
  ctx.strokeStyle = colour("--chart-text");
  ctx.setLineDash(dashes);
  ctx.beginPath();
  ctx.moveTo(x, area.top);
  ctx.lineTo(x, area.bottom);
  ctx.stroke();
  ctx.restore();
}
