/** What people do with a chart: point at a moment, zoom by dragging or by keys, undo it, save the chart as an image. */

import { color } from "./charts_colors.js";

/** Listen to the pointer, the keys and the buttons of a chart; the plugin for zooming listens to the mouse itself. */
export function listen(owner) {
  const { canvas, stack, root } = owner;
  root.querySelector("[data-undo-zoom]").addEventListener("click", () => stack.undoZoom());
  root.querySelector("[data-save-image]").addEventListener("click", () => save(owner));
  canvas.addEventListener("dblclick", () => stack.undoZoom());
  canvas.addEventListener("pointermove", (event) => stack.point(owner.timeAt(event.offsetX)));
  canvas.addEventListener("pointerleave", () => stack.point(null));
  canvas.addEventListener("keydown", (event) => steer(stack, event));
  for (const kind of ["down", "move", "up"]) canvas.addEventListener(`pointer${kind}`, (event) => asMouse(kind, event));
  canvas.addEventListener("pointercancel", () =>
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })),
  );
}

/** The plugin follows a mouse only: a finger or a pen is one for it. Escape ends a drag without a zoom. */
function asMouse(kind, event) {
  if (event.pointerType === "mouse") return;
  event.target.dispatchEvent(new MouseEvent(`mouse${kind}`, event));
}

/** The keyboard's way: arrows move the crosshair, + zooms to its surroundings, Escape undoes. */
function steer(stack, event) {
  const [from, to] = stack.zoom.range;
  const step = (to - from) / 50;
  const at = stack.cursor ?? from;
  const quarter = (to - from) / 4;
  const moves = {
    ArrowLeft: () => stack.point(Math.max(from, at - step)),
    ArrowRight: () => stack.point(Math.min(to, at + step)),
    "+": () => stack.zoomInto([at - quarter, at + quarter]),
    Escape: () => stack.undoZoom(),
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  moves[event.key]();
}

/** Show in a chart's tools whether there is a zoom to undo. */
export function announceZoom({ root, stack }) {
  root.querySelector("[data-undo-zoom]").hidden = !stack.zoom.isZoomed;
}

/** An upright line over a canvas, which needs no drawing to be moved: a function of x in px (null: away) and the area. */
export function crosshair(canvas) {
  const line = document.createElement("i");
  line.className = "chart-cursor";
  line.hidden = true;
  canvas.after(line);
  return (x, { left, right, top, bottom }) => {
    line.hidden = x === null || x < left || x > right;
    if (!line.hidden) Object.assign(line.style, { top: `${top}px`, height: `${bottom - top}px`, left: `${x}px` });
  };
}

/** Save the chart with its title and legend, on the page's ground, as a PNG. */
function save(owner) {
  const ratio = owner.chart.currentDevicePixelRatio;
  const image = document.createElement("canvas");
  const ctx = image.getContext("2d");
  const head = 34 * ratio;
  Object.assign(image, { width: owner.canvas.width, height: owner.canvas.height + head });
  ctx.fillStyle = color("--chart-ground");
  ctx.fillRect(0, 0, image.width, image.height);
  ctx.font = `${13 * ratio}px sans-serif`;
  ctx.fillStyle = color("--chart-text");
  const words = { title: owner.title, series: owner.series.map(({ label }) => label).join(", ") };
  ctx.fillText(interpolate(gettext("%(title)s: %(series)s"), words, true), 12 * ratio, 22 * ratio);
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
