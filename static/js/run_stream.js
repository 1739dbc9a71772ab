/**
 * The run's event stream: one EventSource that is made anew, from the last id seen, whenever it ends. The browser's own
 * reconnecting gives up after an HTTP error (a web process that restarts answers 502 or nothing), so it is not used.
 */

import { Backoff } from "./backoff.js";

const KINDS = ["sample", "pool", "pooler", "waits", "host", "generator", "state", "log", "end"];
const FIRST_WAIT = 250; // ms, doubled with each failure
const LONGEST_WAIT = 5000; // ms
const SILENCE = 20000; // ms without a word: the connection may be dead without having ended
const REFUSALS = 3; // in a row: the stream has no place (503) or its server is away, so the page polls meanwhile

/** Ids are `ATTEMPT-SEQ`, both whole numbers; as one number that grows with them. */
function orderOf(id) {
  const [attempt, seq] = (id || "0-0").split("-").map(Number);
  return attempt * 2 ** 32 + seq;
}

/**
 * Follow `url` after the event `after`. `onEvent(kind, payload)` sees each event once and in order; a `state` is told
 * under the id that the watcher has, so it is passed on each time. `onState` hears live, reconnecting, polling and ended.
 *
 * A tab has one stream, and none while nobody looks at it: over HTTP/1.1 a browser opens six connections to a host, and
 * six runs in tabs would leave none for the next page. What came meanwhile is told when it is looked at again.
 */
export class RunStream {
  constructor(url, after, onEvent, onState) {
    Object.assign(this, { url, after, onEvent, onState, ended: false, refusals: 0 });
    this.backoff = new Backoff(FIRST_WAIT, LONGEST_WAIT);
    document.addEventListener("visibilitychange", () => this.ended || (document.hidden ? this.pause() : this.open()));
  }

  open() {
    this.pause();
    if (document.hidden) return;
    const address = new URL(this.url, window.location.href);
    address.searchParams.set("after", this.after);
    this.source = new EventSource(address);
    this.source.addEventListener("open", () => this.opened());
    this.source.addEventListener("error", () => this.again());
    for (const kind of KINDS) this.source.addEventListener(kind, (event) => this.take(kind, event));
    this.listenForSilence();
  }

  opened() {
    this.backoff.reset();
    this.refusals = 0;
    this.listenForSilence();
    this.onState("live");
  }

  /** Pass an event on unless it, or a later one, was seen: a replay after reconnecting may repeat, never double. */
  take(kind, event) {
    this.listenForSilence();
    const isNew = orderOf(event.lastEventId) > orderOf(this.after);
    if (isNew) this.after = event.lastEventId;
    if (isNew || kind === "state") this.onEvent(kind, JSON.parse(event.data));
    if (kind === "end") this.close();
  }

  again() {
    if (this.ended) return;
    this.pause();
    this.refusals += 1;
    this.onState(this.refusals < REFUSALS ? "reconnecting" : "polling");
    this.timer = setTimeout(() => this.ended || this.open(), this.backoff.next());
  }

  /** Give the connection back, without an end. */
  pause() {
    clearTimeout(this.silence);
    clearTimeout(this.timer);
    this.source?.close();
  }

  listenForSilence() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.again(), SILENCE);
  }

  close() {
    this.ended = true;
    this.pause();
    this.onState("ended");
  }
}
