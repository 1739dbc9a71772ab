/** The buttons over charts that hide kinds of marks and earlier windows. */

/** Let the buttons of a page steer a stack, and the marks of its charts. */
export function listenToLayers(root, stack) {
  const all = new Set([stack.marks, ...stack.charts.map(({ marks }) => marks)]);
  for (const button of root.querySelectorAll("[data-mark-kind]")) {
    onToggle(button, (isShown) => {
      for (const marks of all) marks.show(button.dataset.markKind, isShown);
      stack.draw();
    });
  }
  for (const button of root.querySelectorAll("[data-earlier]"))
    onToggle(button, (isShown) => stack.showGroup(button.dataset.earlier, isShown));
}

function onToggle(button, toggle) {
  button.addEventListener("click", () => {
    const isShown = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", String(isShown));
    toggle(isShown);
  });
}

/** Offer the browser's own time zone in the form of a window. */
export function offerOwnZone(root) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const list = root.querySelector("[data-zones]");
  if (!own || !list || [...list.options].some(({ value }) => value === own)) return;
  list.append(new Option("", own));
}
