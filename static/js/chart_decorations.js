/** What is drawn beside a chart's lines: by itself, as an annotation plugin doubles the time that a sample takes. */

import { placed } from "./chart_marks.js";
import { color } from "./charts_colors.js";

const FONT = "11px sans-serif";
const COLORS = {
  size: "--chart-2",
  restart: "--chart-8",
  normal: "--chart-6",
  revision: "--chart-7",
  event: "--chart-4",
  run: "--chart-5",
};

/** The time not reached yet, shaded, and marked moments, named in charts with `marksNamed`. */
export function decorations(owner) {
  return {
    id: "pooldeck",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const { reached, shaded, zoom } = owner.stack;
      if (shaded && reached < zoom.end) shade(ctx, chartArea, scales.x, reached);
    },
    afterDatasetsDraw({ ctx, chartArea, scales }) {
      const { shown } = owner.marks;
      if (shown.length) drawMarks(ctx, chartArea, scales.x, owner, shown);
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

function drawMarks(ctx, area, axis, { marksNamed }, marks) {
  ctx.save();
  ctx.font = FONT;
  ctx.setLineDash([1, 2]);
  const widthOf = (text) => ctx.measureText(text).width;
  for (const one of placed(marks, (t) => axis.getPixelForValue(t), widthOf, area)) drawMark(ctx, area, one, marksNamed);
  ctx.restore();
}

/** An upright line, its name on the side with more room. */
function drawMark(ctx, { top, bottom }, { mark, x, at, align, y }, isNamed) {
  ctx.strokeStyle = ctx.fillStyle = color(COLORS[mark.kind] ?? "--chart-text");
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
  ctx.textAlign = align;
  if (isNamed && at !== null) ctx.fillText(mark.label, at, top + 9 + y);
}
