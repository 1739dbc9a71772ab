// Says so when the live parts of a page get no answer, and takes it back when they do again.
(() => {
  const show = (down) => {
    const strip = document.querySelector("[data-offline]");
    if (strip) strip.hidden = !down;
  };
  document.addEventListener("htmx:sendError", () => show(true));
  document.addEventListener("htmx:timeout", () => show(true));
  document.addEventListener("htmx:afterOnLoad", () => show(false));
})();
