// Beside a pool's size: what is left of the cluster's budget as one types. The server judges by the same figures.
(() => {
  const show = () => {
    const box = document.querySelector("[data-budget]");
    if (!box) return;
    const available = Number(box.dataset.available);
    const allocated = Number(box.dataset.allocated);
    const typed = (name) => Math.max(0, Number.parseInt(document.querySelector(`input[name=${name}]`)?.value, 10) || 0);
    const free = available - allocated;
    const takes =
      box.dataset.takes === undefined ? typed("size") + typed("further_reserve_pool") : Number(box.dataset.takes);
    const left = free - takes;
    const bar = box.querySelector("[data-budget-new]");
    const percent = (number) => `${Math.max(0, Math.min(100, available ? (100 * number) / available : 0))}%`;
    bar.setAttribute("x", percent(allocated));
    bar.setAttribute("width", percent(Math.min(free, free - left)));
    box.classList.toggle("pd-budget-full", left < 0);
    const line = box.querySelector("[data-budget-line]");
    const strong = document.createElement("strong");
    strong.textContent = String(Math.abs(left));
    line.replaceChildren(
      strong,
      left < 0 ? ` over the budget: ${Math.max(0, free)} are free` : ` of ${free} free ones left after this pool`,
    );
  };
  document.addEventListener("input", (event) => {
    if (["size", "further_reserve_pool"].includes(event.target.name)) show();
  });
  document.addEventListener("htmx:afterSettle", show);
  document.addEventListener("DOMContentLoaded", show);
})();
