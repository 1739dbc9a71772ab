/** Line numbers beside the editor of a script; without them it is a plain text area. */

const holder = document.querySelector("[data-script-editor]");
const text = holder?.querySelector("textarea");

function number(gutter) {
  const count = text.value.split("\n").length;
  gutter.textContent = Array.from({ length: count }, (_, at) => at + 1).join("\n");
  gutter.scrollTop = text.scrollTop;
}

if (text) {
  const frame = document.createElement("div");
  const gutter = document.createElement("pre");
  frame.className = "script-editor";
  gutter.className = "script-gutter";
  gutter.setAttribute("aria-hidden", "true");
  text.before(frame);
  frame.append(gutter, text);
  text.addEventListener("input", () => number(gutter));
  text.addEventListener("scroll", () => {
    gutter.scrollTop = text.scrollTop;
  });
  number(gutter);
}
