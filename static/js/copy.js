// Buttons that copy: data-copy holds the text, or data-copy-from the selector of the element that holds it.
(() => {
  const SHOWN_MS = 1600;

  // Outside https and localhost browsers hide the clipboard API: a selected text area still works.
  const copyBySelection = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "pd-offscreen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };

  const copy = async (text) => {
    if (!navigator.clipboard) return copyBySelection(text);
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyBySelection(text);
    }
  };

  const tell = (button, done) => {
    const label = button.querySelector("[data-copy-label]");
    const before = button.dataset.copyBefore ?? label?.textContent ?? "";
    button.dataset.copyBefore = before;
    button.classList.toggle("pd-copied", done);
    if (label) label.textContent = done ? "Copied" : "Select and copy by hand";
    clearTimeout(Number(button.dataset.copyTimer));
    button.dataset.copyTimer = setTimeout(() => {
      button.classList.remove("pd-copied");
      if (label) label.textContent = before;
    }, SHOWN_MS);
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom && document.querySelector(button.dataset.copyFrom);
    const text = source ? (source.value ?? source.textContent) : button.dataset.copy;
    tell(button, await copy(text ?? ""));
  });
})();
