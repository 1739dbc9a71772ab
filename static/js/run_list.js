/** The list of runs: filters take effect as they are chosen, and the compare button says what is missing. */

const filters = document.querySelector("[data-filters]");
const compare = document.querySelector("[data-compare]");

filters?.addEventListener("change", (event) => event.target.matches("select") && filters.requestSubmit());

function countTicked() {
  const ticked = compare.querySelectorAll("[name=run]:checked").length;
  compare.querySelector("button[type=submit]").disabled = ticked < 2;
  const hint = ticked < 2 ? gettext("Tick two or more.") : ngettext("%(count)s ticked.", "%(count)s ticked.", ticked);
  compare.querySelector("[data-compare-hint]").textContent = interpolate(hint, { count: ticked }, true);
}

if (compare) {
  compare.addEventListener("change", countTicked);
  countTicked();
}
