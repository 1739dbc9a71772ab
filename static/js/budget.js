// Beside a pool's size: what is left of the cluster's budget as one types. The server judges by the same figures.
(() => {
  const show = () => {
    const box = document.querySelector("[data-budget]");
    if (!box) return;
    const available = Number(box.dataset.available);
    const allocated = Number(box.dataset.allocated);
    const size = Number(box.querySelector("input[name=size]").value);
    const free = available - allocated;
    const left = free - (Number.isInteger(size) && size > 0 ? size : 0);
    const bar = box.querySelector("[data-budget-new]");
    const percent = (number) => `${Math.max(0, Math.min(100, available ? (100 * number) / available : 0))}%`;
    bar.setAttribute("x", percent(allocated));
    bar.setAttribute("width", percent(Math.min(free, free - left)));
    box.classList.toggle("pd-budget-full", left < 0);
    const line = box.querySelector("[data-budget-line]");
    const strong = document.createElement("strong");
    strong.textContent = String(Math.abs(left));
    line.replaceChildren(strong, left < 0 ? ` over the budget: ${free} are free` : ` of ${free} free ones left after this pool`);
  };
  document.addEventListener("input", (event) => {
    if (event.target.name === "size") show();
  });
  document.addEventListener("htmx:afterSettle", show);
  document.addEventListener("DOMContentLoaded", show);
})();
