/** The log of a run: the last lines, those with a certain text only if asked, at the end unless scrolled away. */

const KEPT = 2000; // lines

export class LogPanel {
  constructor(root) {
    this.text = root.querySelector("[data-log]");
    this.empty = root.querySelector("[data-log-empty]");
    this.filter = root.querySelector("[data-log-filter]");
    this.lines = this.text.textContent.split("\n").filter(Boolean);
    this.filter.addEventListener("input", () => this.show());
    this.show();
  }

  add(line) {
    this.lines.push(line);
    if (this.lines.length > KEPT) this.lines.splice(0, this.lines.length - KEPT);
    if (this.waits) return;
    this.waits = requestAnimationFrame(() => this.show());
  }

  /** Take the program's own words in place of what was followed, where they are kept. */
  async replaceBy(url) {
    const answer = await fetch(url);
    const text = answer.ok ? await answer.text() : "";
    if (!text) return;
    this.lines = text.split("\n").filter(Boolean).slice(-KEPT);
    this.show();
  }

  show() {
    this.waits = null;
    const wanted = this.filter.value.toLowerCase();
    const shown = wanted ? this.lines.filter((line) => line.toLowerCase().includes(wanted)) : this.lines;
    const atEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    this.text.textContent = shown.join("\n");
    this.text.hidden = !shown.length;
    this.empty.hidden = Boolean(shown.length);
    this.empty.textContent = wanted
      ? interpolate(gettext("No line contains “%(text)s”."), { text: this.filter.value }, true)
      : gettext("No output yet.");
    if (atEnd) this.text.scrollTop = this.text.scrollHeight;
  }
}
