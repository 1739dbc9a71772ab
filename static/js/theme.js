// Light, dark or as the system: set before the first paint, so this file is loaded without defer.
(() => {
  const KEY = "pooldeck-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const choice = () => {
    try {
      return localStorage.getItem(KEY) || "auto";
    } catch {
      return "auto"; // storage is forbidden: follow the system
    }
  };
  const show = () => {
    const wanted = choice();
    const theme = wanted === "auto" ? (system.matches ? "dark" : "light") : wanted;
    document.documentElement.dataset.bsTheme = theme;
    document.documentElement.classList.add("pd-js");
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === wanted));
    }
    document.dispatchEvent(new CustomEvent("pooldeck:theme", { detail: { theme } }));
  };
  const choose = (event) => {
    const button = event.target.closest("[data-theme-choice]");
    if (!button) return;
    try {
      localStorage.setItem(KEY, button.dataset.themeChoice);
    } catch {
      return; // nothing to remember it in
    }
    show();
  };
  show();
  system.addEventListener("change", show);
  window.addEventListener("storage", show);
  document.addEventListener("click", choose);
  document.addEventListener("DOMContentLoaded", show);
})();
