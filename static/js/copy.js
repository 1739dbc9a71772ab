// Buttons that copy: data-copy holds the text, data-copy-from the selector of the element that holds it, or
// data-copy-post the address that answers it (a password is fetched when asked for and never stands in the page) to the
// form values in data-copy-body, the button's own or those of the table around it.
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

  const tell = (button, done, why = gettext("Not copied")) => {
    const label = button.querySelector("[data-copy-label]");
    const before = button.dataset.copyBefore ?? label?.textContent ?? "";
    button.dataset.copyBefore = before;
    button.classList.toggle("pd-copied", done);
    if (label) label.textContent = done ? gettext("Copied") : why;
    clearTimeout(Number(button.dataset.copyTimer));
    button.dataset.copyTimer = setTimeout(() => {
      button.classList.remove("pd-copied");
      if (label) label.textContent = before;
    }, SHOWN_MS);
  };

  const fetched = async (button) => {
    const headers = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}");
    const body = new URLSearchParams(button.closest("[data-copy-body]")?.dataset.copyBody ?? "");
    const answer = await fetch(button.dataset.copyPost, { method: "POST", headers, body });
    if (answer.redirected) window.location.reload(); // the session has ended
    if (answer.status === 403) throw new Error(gettext("Show the password first"), { cause: "unconfirmed" });
    if (!answer.ok || answer.redirected) throw new Error(answer.status);
    return answer.text();
  };

  const textOf = async (button) => {
    if (button.dataset.copyPost) return fetched(button);
    const source = button.dataset.copyFrom && document.querySelector(button.dataset.copyFrom);
    return source ? (source.value ?? source.textContent) : button.dataset.copy;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from], [data-copy-post]");
    if (!button) return;
    event.preventDefault();
    try {
      tell(button, await copy(await textOf(button)));
    } catch (error) {
      tell(button, false, error.cause === "unconfirmed" ? error.message : undefined);
    }
  });
})();
