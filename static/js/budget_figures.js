/** A cluster's budget of connections while a pool is sized. */

/** A whole number as typed into a field; 0 for what is none. */
export function typed(text) {
  return Math.max(0, Number.parseInt(text, 10) || 0);
}

/** What a pool that takes `takes` leaves: `free` before it, `left` after it, and its bar `from` and `width` in percent. */
export function budget({ available, allocated, takes }) {
  const free = available - allocated;
  const percent = (number) => Math.max(0, Math.min(100, available ? (100 * number) / available : 0));
  return { free, left: free - takes, from: percent(allocated), width: percent(Math.min(free, takes)) };
}

/** The sentence on it, with `%(count)s` where the number stands that counts. */
export function sentence({ free, left }) {
  const shown = Math.max(0, free);
  const over = ngettext(
    "%(count)s over the budget: %(free)s is free",
    "%(count)s over the budget: %(free)s are free",
    shown,
  );
  const kept = ngettext(
    "%(count)s of %(free)s free one left after this pool",
    "%(count)s of %(free)s free ones left after this pool",
    shown,
  );
  return interpolate(left < 0 ? over : kept, { count: "%(count)s", free: shown }, true);
}
