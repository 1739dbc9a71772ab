/** What people do with a chart: point at a moment, zoom by dragging or by keys, undo it, save the chart as an image. */

import { color } from "./charts_colors.js";

const NEAR = 6; // px: a pointer that moved less was not dragged

/** Listen to the pointer, the keys and the buttons of a chart; the plugin for zooming listens to the mouse itself. */
export function listen(owner) {
  const { canvas, stack, root } = owner;
  root.querySelector("[data-undo-zoom]").addEventListener("click", () => stack.undoZoom());
  root.querySelector("[data-save-image]").addEventListener("click", () => save(owner));
  canvas.addEventListener("dblclick", () => stack.undoZoom());
  canvas.addEventListener("pointermove", (event) => hover(owner, event));
  canvas.addEventListener("pointerleave", () => stack.point(null));
  canvas.addEventListener("blur", () => stack.point(null));
  canvas.addEventListener("keydown", (event) => steer(owner, event));
  canvas.addEventListener("pointerdown", ({ offsetX }) => {
    owner.pressedAt = offsetX;
  });
  canvas.addEventListener("click", (event) => press(owner, event));
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

/** Point at the moment under the pointer, which shows where a click leads somewhere. */
function hover(owner, { offsetX }) {
  owner.canvas.style.cursor = owner.markAt(offsetX)?.url ? "pointer" : "";
  owner.stack.point(owner.timeAt(offsetX), owner);
}

/** A click on a mark opens the page about it; the end of a drag is none. */
function press(owner, { offsetX }) {
  const url = Math.abs(offsetX - owner.pressedAt) < NEAR ? owner.markAt(offsetX)?.url : null;
  if (url) window.location.assign(url);
}

/**
 * The keyboard's way: arrows move the crosshair from row to row, Home and End to the first and the last, Page Up and
 * Page Down by a tenth of what is seen; Enter opens what is marked there, + zooms to its surroundings, Escape undoes.
 */
function steer(owner, event) {
  const { stack } = owner;
  const [from, to] = stack.zoom.range;
  const quarter = (to - from) / 4;
  const tenth = owner.rowsAcross(0.1);
  const moves = {
    ArrowLeft: () => owner.move(-1),
    ArrowRight: () => owner.move(1),
    PageUp: () => owner.move(-tenth),
    PageDown: () => owner.move(tenth),
    Home: () => owner.move(-Infinity),
    End: () => owner.move(Infinity),
    Enter: () => follow(owner),
    "+": () => stack.zoomInto([(stack.cursor ?? from) - quarter, (stack.cursor ?? from) + quarter]),
    Escape: () => stack.undoZoom(),
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  moves[event.key]();
}

function follow(owner) {
  const marked = owner.marksAt(owner.stack.cursor).find(({ url }) => url);
  if (marked) window.location.assign(marked.url);
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
