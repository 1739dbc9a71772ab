/** The span of time that a stack of charts shows: all of it, or zoomed views that are undone one by one. */
export class Zoom {
  constructor(start, end) {
    Object.assign(this, { start, end });
    this.views = [];
  }

  get range() {
    return this.views.at(-1) ?? [this.start, this.end];
  }

  get isZoomed() {
    return this.views.length > 0;
  }

  /** Another whole span; a zoomed view stays. */
  reach(start, end) {
    Object.assign(this, { start, end });
  }

  into([from, to]) {
    this.views.push([Math.max(this.start, Math.min(from, to)), Math.min(this.end, Math.max(from, to))]);
  }

  undo() {
    return this.views.pop();
  }
}
