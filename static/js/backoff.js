/** How long to wait before the next attempt, in ms: doubled with each failure, and never the same for all browsers. */
export class Backoff {
  constructor(first, longest, random = Math.random) {
    Object.assign(this, { first, longest, random, wait: first });
  }

  /** The wait before the next attempt. */
  next() {
    const { wait } = this;
    this.wait = Math.min(this.longest, wait * 2);
    return wait * (0.75 + this.random() / 2);
  }

  /** An attempt was successful. */
  reset() {
    this.wait = this.first;
  }
}
