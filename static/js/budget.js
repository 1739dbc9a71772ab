/** Beside a pool's size: what is left of the cluster's budget as one types. The server judges by the same figures. */

import { budget, sentence, typed } from "./budget_figures.js";

const field = (name) => typed(document.querySelector(`input[name=${name}]`)?.value);

function show() {
  const box = document.querySelector("[data-budget]");
  if (!box) return;
  const { available, allocated, takes, processes } = box.dataset;
  const inAll = (field("size") + field("further_reserve_pool")) * Number(processes ?? 1);
  const asked = takes === undefined ? inAll : Number(takes);
  const found = budget({ available: Number(available), allocated: Number(allocated), takes: asked });
  const bar = box.querySelector("[data-budget-new]");
  bar.setAttribute("x", `${found.from}%`);
  bar.setAttribute("width", `${found.width}%`);
  box.classList.toggle("pd-budget-full", found.left < 0);
  const strong = document.createElement("strong");
  strong.textContent = String(Math.abs(found.left));
  const [before, after] = sentence(found).split("%(count)s");
  box.querySelector("[data-budget-line]").replaceChildren(before, strong, after);
}

document.addEventListener("input", (event) => {
  if (["size", "further_reserve_pool"].includes(event.target.name)) show();
});
document.addEventListener("htmx:afterSettle", show);
show();
