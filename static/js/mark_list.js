/** Marks that come after the page was loaded: in the charts, in the list below them, and their buttons above. */

/** Add marks to a stack and to the page; `words(t)` is the moment of each in the list. */
export function addMarks(root, stack, marks, words) {
  const added = stack.marks.add(marks).sort((a, b) => a.t - b.t);
  if (!added.length) return;
  for (const { kind } of added) {
    const button = root.querySelector(`[data-mark-kind="${kind}"]`);
    if (button) button.hidden = false;
  }
  const list = root.querySelector("[data-marks]");
  if (list) {
    for (const mark of added) list.prepend(itemOf(mark, words));
    list.closest("section").hidden = false;
  }
  stack.draw();
}

function itemOf({ t, kind, text, url }, words) {
  const [item, time, key, link] = ["li", "time", "i", "a"].map((name) => document.createElement(name));
  item.dataset.mark = kind;
  Object.assign(time, { dateTime: new Date(t * 1000).toISOString(), textContent: words(t) });
  key.classList.add("chart-mark-key", `chart-mark-${kind}`);
  key.setAttribute("aria-hidden", "true");
  Object.assign(link, { className: "pd-wrap", href: url, textContent: text });
  item.append(time, " ", key, " ", link);
  return item;
}
