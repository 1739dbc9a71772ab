/** What is drawn beside a chart's lines: by itself, as an annotation plugin doubles the time that a sample takes. */

import { color } from "./charts_colors.js";

/** The time not reached yet, shaded, and marked moments, named in charts with `marksNamed`. */
export function decorations(owner) {
  return {
    id: "pooldeck",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const { reached, shaded, zoom } = owner.stack;
      if (shaded && reached < zoom.end) shade(ctx, chartArea, scales.x, reached);
    },
    afterDatasetsDraw({ ctx, chartArea, scales }) {
      for (const mark of owner.stack.marks) drawMark(ctx, chartArea, scales.x.getPixelForValue(mark.t), owner, mark);
    },
  };
}

function shade(ctx, { left, right, top, bottom }, axis, reached) {
  const from = Math.min(right, Math.max(left, axis.getPixelForValue(reached)));
  ctx.save();
  ctx.fillStyle = color("--chart-shade");
  ctx.fillRect(from, top, right - from, bottom - top);
  ctx.restore();
}

/** An upright line, its name on the side with more room. */
function drawMark(ctx, { left, right, top, bottom }, x, { marksNamed }, { label }) {
  if (x < left || x > right) return;
  const isLeft = x < (left + right) / 2;
  ctx.save();
  Object.assign(ctx, {
    strokeStyle: color("--chart-text"),
    fillStyle: color("--chart-text"),
    font: "11px sans-serif",
  });
  ctx.textAlign = isLeft ? "left" : "right";
  ctx.setLineDash([1, 2]);
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
  if (marksNamed) ctx.fillText(label, x + (isLeft ? 4 : -4), top + 9);
  ctx.restore();
}
