// Counts down elements with data-left (seconds when the page was made), also those that htmx brings later.
(() => {
  const ends = new WeakMap();

  const words = (seconds) => {
    const minutes = Math.floor(seconds / 60);
    return minutes ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`;
  };

  setInterval(() => {
    const now = performance.now();
    for (const element of document.querySelectorAll("[data-left]")) {
      if (!ends.has(element)) ends.set(element, now + Number(element.dataset.left) * 1000);
      element.textContent = words(Math.max(0, Math.ceil((ends.get(element) - now) / 1000)));
    }
  }, 250);
})();
