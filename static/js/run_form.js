/** The form of a run: fields of the chosen way only, a draft that survives a reload, a label that says what starts. */

const form = document.querySelector("[data-run-form]");
const draftKey = form.dataset.draft && `pooldeck draft ${form.dataset.draft}`;

const NOT_KEPT = ["csrfmiddlewaretoken", "confirm", "page"];

const route = () => new FormData(form).get("route");

/** Whether the cluster is loaded directly too. */
const isPair = () => route() === "both" || (route() === "external" && form.elements.and_direct.checked);

/** The number of steps of the sweep; 1 without one. */
const steps = () => form.elements.sweep_clients.value.match(/\d+/g)?.length || 1;

/** Says how many runs start, a pair's both counted. */
function submitLabel(each) {
  const runs = each * steps() * Math.max(1, Number(new FormData(form).get("repeat")) || 1);
  if (runs === 1) return gettext("Start the run");
  if (runs === 2 && each === 2) return gettext("Start both runs");
  return interpolate(ngettext("Start %(runs)s run", "Start %(runs)s runs", runs), { runs }, true);
}

function showRoute() {
  for (const part of form.querySelectorAll("[data-for]")) {
    part.hidden = !part.dataset.for.split(" ").includes(route());
  }
  form.querySelector("[data-submit-label]").textContent = submitLabel(isPair() ? 2 : 1);
}

function keepDraft() {
  if (!draftKey) return;
  const typed = [...new FormData(form)].filter(([name]) => !NOT_KEPT.includes(name));
  sessionStorage.setItem(draftKey, JSON.stringify(typed));
}

function restoreDraft() {
  const typed = new Map(JSON.parse((draftKey && sessionStorage.getItem(draftKey)) || "[]"));
  if (!typed.size) return;
  for (const field of form.elements) {
    if (!field.name || NOT_KEPT.includes(field.name)) continue;
    if (field.type === "radio") field.checked = typed.get(field.name) === field.value;
    else if (field.type === "checkbox") field.checked = typed.has(field.name);
    else if (typed.has(field.name)) field.value = typed.get(field.name);
  }
}

restoreDraft();
showRoute();
form.addEventListener("input", keepDraft);
form.addEventListener("input", showRoute);
form.addEventListener("change", showRoute);
form.addEventListener("htmx:afterSettle", ({ target }) => {
  if (!target.matches("[data-stages]")) return; // filled by the chosen shape: the command and the draft follow
  target.querySelector("textarea").dispatchEvent(new Event("input", { bubbles: true }));
});
form.addEventListener("submit", () => draftKey && sessionStorage.removeItem(draftKey));
