// Light or dark as chosen here, else as in the panel: set before the first paint, so this is loaded without defer.
(() => {
  let theme = "auto";
  try {
    theme = localStorage.getItem("theme") || localStorage.getItem("pooldeck-theme") || theme;
  } catch {
    // storage is forbidden: follow the system
  }
  document.body.dataset.theme = theme;
})();
