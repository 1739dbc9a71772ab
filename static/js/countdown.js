/** Counts down elements with data-left (seconds when the page was made), also those that htmx brings later. */

import { left } from "./run_figures.js";

const ends = new WeakMap();

setInterval(() => {
  const now = performance.now();
  for (const element of document.querySelectorAll("[data-left]")) {
    if (!ends.has(element)) ends.set(element, now + Number(element.dataset.left) * 1000);
    element.textContent = left(Math.max(0, Math.ceil((ends.get(element) - now) / 1000)));
  }
}, 250);
