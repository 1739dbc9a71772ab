/** What a chart says of one moment, in words; touches no page. */

import { rounded } from "./run_figures.js";

export const COUNTED = ["connections", "sessions", "clients", "servers"]; // what labels name already, and has no halves

/** A line for the eye and for screen readers: the moment, what happened then, and each shown figure. */
export function spoken(moment, figures, marks = []) {
  const known = figures.filter(({ value }) => value !== null && value !== undefined);
  const values = known.map(({ label, value, unit }) => {
    const figure = COUNTED.includes(unit) ? rounded(value) : `${rounded(value)} ${unit}`.trim();
    return interpolate(gettext("%(series)s: %(value)s"), { series: label, value: figure }, true);
  });
  const happened = marks.map(({ text, label }) => text ?? label);
  const nothing = values.length ? [] : [gettext("nothing recorded")];
  return [moment, ...happened, ...values, ...nothing].join(" · ");
}
