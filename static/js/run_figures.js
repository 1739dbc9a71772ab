/** How figures are written: a rounded text for the eye, the exact one for the tooltip. */

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const fixed = [0, 1, 2, 3].map(
  (digits) => new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }),
);

/** Three or so digits that matter, as the pages' `figure` filter writes them; "–" where nothing was said. */
export function rounded(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 1000 || Number.isInteger(value) ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3;
  return fixed[digits].format(value).replace("-", "−");
}

/** The value as it was printed, with its unit. */
export function exact(value, unit) {
  return value === null || value === undefined ? gettext("not printed") : `${value} ${unit}`;
}

/** A short axis label: 60K, 1.2M, 0.25. */
export function tick(value) {
  return Math.abs(value) >= 1000 ? compact.format(value) : String(Number(value.toPrecision(3)));
}

/** Seconds as people say them: 42 s, 3 min 5 s, 2 h 4 min; parts of nothing are left out. */
export function seconds(value) {
  if (value > 0 && value < 60 && value % 1) return `${Number(value.toFixed(1))} s`;
  const total = Math.max(0, Math.round(value));
  const [hours, minutes, rest] = [Math.floor(total / 3600), Math.floor((total % 3600) / 60), total % 60];
  const parts = [hours && `${hours} h`, minutes && `${minutes} min`, !hours && rest && `${rest} s`];
  return parts.filter(Boolean).join(" ") || "0 s";
}

/** Milliseconds as events say them: 0.167 ms, 850 ms, 29.0 s, 2 min 5 s. */
export function waited(value) {
  if (!(value >= 1000)) return value === null || value === undefined ? "–" : `${rounded(value)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : seconds(value / 1000);
}

/** What is left of a time, for who waits for its end. */
export function left(value) {
  const words = { minutes: Math.floor(value / 60), seconds: value % 60 };
  const format = words.minutes ? gettext("%(minutes)s min %(seconds)s s left") : gettext("%(seconds)s s left");
  return interpolate(format, words, true);
}

const BYTES = ["bytes", "kB", "MB", "GB"];

/** A number of bytes in the unit that keeps it short: 812 bytes, 1.5 MB. */
export function sized(value) {
  if (value === null || value === undefined) return "–";
  let [unit, number] = [0, value];
  for (; number >= 1024 && unit < BYTES.length - 1; unit += 1) number /= 1024;
  return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${BYTES[unit]}`;
}
