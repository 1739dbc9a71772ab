// Says so when the live parts of a page get no answer, and takes it back when they do again; leads to the login
// when the session has ended, rather than drawing the login page into a part of this one.
(() => {
  const show = (down) => {
    const strip = document.querySelector("[data-offline]");
    if (strip) strip.hidden = !down;
  };
  document.addEventListener("htmx:sendError", () => show(true));
  document.addEventListener("htmx:timeout", () => show(true));
  document.addEventListener("htmx:responseError", (event) => show(event.detail.xhr.status >= 500));
  document.addEventListener("htmx:beforeSwap", (event) => {
    const from = event.detail.xhr.responseURL;
    if (!from || new URL(from).pathname !== "/login/") return;
    event.detail.shouldSwap = false;
    window.location.reload();
  });
  document.addEventListener("htmx:afterOnLoad", () => show(false));
})();
