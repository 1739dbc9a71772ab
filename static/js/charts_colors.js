/** The style sheet's colors as a canvas understands them. */

const probe = document.createElement("i");
const colors = new Map();
probe.hidden = true;
document.body.append(probe);

/** A token, mixed with that much of nothing; the probe resolves light-dark() for the theme shown. */
export function color(name, opacity = "100%") {
  const key = `${name} ${opacity}`;
  if (!colors.has(key)) {
    probe.style.color = mixed(name, opacity);
    colors.set(key, getComputedStyle(probe).color);
  }
  return colors.get(key);
}

/** The same for a style. */
export function mixed(name, opacity) {
  return `color-mix(in srgb, var(${name}) ${opacity}, transparent)`;
}

/** Call back when the theme changes: colors are to be asked for anew. */
export function onTheme(repaint) {
  const react = () => {
    colors.clear();
    repaint();
  };
  new MutationObserver(react).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", react);
}
