// The form of a pool: what is typed while a cluster is asked for its databases stays, though the answer to the
// question brings these fields anew, with their values of when it was asked.
(() => {
  const fields = () => [...document.querySelectorAll("#pool-choices [name]")];
  const values = () => new Map(fields().map((field) => [field.name, field.value]));
  const takes = (field, value) => field.tagName !== "SELECT" || [...field.options].some((one) => one.value === value);
  const asked = new WeakMap(); // request → values when it was sent
  let typed = new Map();

  document.addEventListener("htmx:beforeRequest", ({ detail }) => {
    if (detail.target.id === "pool-choices") asked.set(detail.xhr, values());
  });
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const before = asked.get(detail.xhr);
    if (before) typed = new Map([...values()].filter(([name, value]) => before.get(name) !== value));
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const field of fields()) {
      const value = typed.get(field.name);
      if (value !== undefined && takes(field, value)) field.value = value;
    }
    typed = new Map();
  });
})();
