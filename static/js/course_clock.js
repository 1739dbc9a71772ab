/** How times of recorded figures are written, in the zone of their page. */

const HOURS = { hour: "2-digit", minute: "2-digit" };
const DAY = 86400; // s

function clock(zone, options) {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour12: false, ...options });
  return (t) => format.format(new Date(t * 1000));
}

/** Labels of an axis that shows so many seconds. */
export function axisLabel(zone, span) {
  if (span <= 600) return clock(zone, { ...HOURS, second: "2-digit" });
  if (span <= 1.1 * DAY) return clock(zone, HOURS);
  if (span <= 8 * DAY) return clock(zone, { weekday: "short", ...HOURS });
  return clock(zone, { day: "numeric", month: "short" });
}

/** The words for one moment, of rows that stand for so many seconds. */
export function momentWords(zone, step) {
  const day = step >= 3600 ? { day: "numeric", month: "short" } : {};
  return clock(zone, { weekday: "short", ...day, ...HOURS, ...(step < 60 ? { second: "2-digit" } : {}) });
}
