/** What people do with a chart: point at a moment, zoom by dragging or by keys, save it as an image. */

import { colour } from "./charts_colours.js";

const DRAG_LEAST = 6; // px: a shorter drag is a click

/** Listen to the pointer, the keys and the buttons of a chart. */
export function listen(owner) {
  const { canvas, stack, root } = owner;
  owner.undoButton.addEventListener("click", () => stack.undo());
  root.querySelector("[data-save-image]").addEventListener("click", () => save(owner));
  canvas.addEventListener("dblclick", () => stack.undo());
  canvas.addEventListener("pointermove", (event) => move(owner, event));
  canvas.addEventListener("pointerdown", (event) => press(owner, event));
  canvas.addEventListener("pointerup", (event) => release(owner, event));
  canvas.addEventListener("pointercancel", () => Object.assign(owner, { dragged: null }));
  canvas.addEventListener("pointerleave", () => owner.dragged || stack.point(null));
  canvas.addEventListener("keydown", (event) => steer(stack, event));
}

function press(owner, event) {
  if (event.button !== 0) return;
  owner.canvas.setPointerCapture(event.pointerId);
  owner.pressedAt = event.offsetX;
}

function move(owner, event) {
  const t = owner.timeAt(event.offsetX);
  if (owner.pressedAt !== undefined && event.buttons) owner.dragged = [owner.timeAt(owner.pressedAt), t];
  owner.stack.point(t);
}

function release(owner, event) {
  const { dragged, pressedAt, stack } = owner;
  Object.assign(owner, { dragged: null, pressedAt: undefined });
  if (!dragged || Math.abs(event.offsetX - pressedAt) < DRAG_LEAST) return;
  const [from, to] = dragged.sort((a, b) => a - b);
  stack.zoom([Math.max(stack.start, from), Math.min(stack.span, to)]);
}

/** The keyboard's way: arrows move the crosshair, + zooms to its surroundings, Escape undoes. */
function steer(stack, event) {
  const [from, to] = stack.range;
  const step = (to - from) / 50;
  const at = stack.cursor ?? from;
  const quarter = (to - from) / 4;
  const moves = {
    ArrowLeft: () => stack.point(Math.max(from, at - step)),
    ArrowRight: () => stack.point(Math.min(to, at + step)),
    "+": () => stack.zoom([Math.max(stack.start, at - quarter), Math.min(stack.span, at + quarter)]),
    Escape: () => stack.undo(),
  };
  if (!(event.key in moves)) return;
  event.preventDefault();
  moves[event.key]();
}

/** Save the chart with its title and legend, on the page's ground, as a PNG. */
function save(owner) {
  const ratio = owner.chart.currentDevicePixelRatio;
  const image = document.createElement("canvas");
  const ctx = image.getContext("2d");
  const head = 34 * ratio;
  Object.assign(image, { width: owner.canvas.width, height: owner.canvas.height + head });
  ctx.fillStyle = colour("--chart-ground");
  ctx.fillRect(0, 0, image.width, image.height);
  ctx.font = `${13 * ratio}px sans-serif`;
  ctx.fillStyle = colour("--chart-text");
  ctx.fillText(`${owner.title}: ${owner.series.map((one) => one.label).join(", ")}`, 12 * ratio, 22 * ratio);
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
