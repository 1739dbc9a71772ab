// The page of a pooler's settings: find by words, and show only what was changed. Without JavaScript it is one long
// page with links to its groups.
(() => {
  const form = document.querySelector("[data-settings]");
  if (!form) return;
  const find = form.querySelector("[data-settings-find]");
  const changedOnly = form.querySelector("[data-settings-changed]");
  const count = form.querySelector("[data-settings-count]");
  const rows = [...form.querySelectorAll("[data-setting]")];
  const fits = (row, words) => words.every((word) => row.dataset.setting.includes(word));
  const typedAnew = (row) =>
    [...row.querySelectorAll("input, select")].some((field) =>
      field.type === "checkbox"
        ? field.checked !== field.defaultChecked
        : field.tagName === "SELECT"
          ? !field.options[field.selectedIndex]?.defaultSelected && field.value !== ""
          : field.value !== field.defaultValue,
    );
  const isChanged = (row) =>
    "settingChanged" in row.dataset || row.classList.contains("pd-field-invalid") || typedAnew(row);

  const show = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !fits(row, words) || (changedOnly.checked && !isChanged(row));
    for (const group of form.querySelectorAll("[data-settings-group]")) {
      group.hidden = !group.querySelector("[data-setting]:not([hidden])");
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent =
      shown === rows.length ? "" : interpolate(gettext("%(shown)s of %(all)s"), { shown, all: rows.length }, true);
  };
  find.addEventListener("input", show);
  find.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  changedOnly.addEventListener("change", show);
  show();
})();
