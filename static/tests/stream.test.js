import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Backoff } from "../js/backoff.js";
import { RunStream } from "../js/run_stream.js";

class Source {
  static opened = [];
  handlers = {};

  constructor(address) {
    this.address = address;
    Source.opened.push(this);
  }

  addEventListener(kind, handle) {
    this.handlers[kind] = handle;
  }

  say(kind, lastEventId, payload = {}) {
    this.handlers[kind]({ lastEventId, data: JSON.stringify(payload) });
  }

  close() {
    this.closed = true;
  }
}

const page = { hidden: false, handlers: [], addEventListener: (_kind, handle) => page.handlers.push(handle) };

/** Let the page be looked at, or not. */
function show(isShown) {
  page.hidden = !isShown;
  for (const handle of page.handlers) handle();
}

function opened() {
  Source.opened.length = 0;
  Object.assign(page, { hidden: false, handlers: [] });
  Object.assign(globalThis, {
    document: page,
    EventSource: Source,
    window: { location: { href: "http://panel/runs/1/" } },
  });
  const seen = [];
  const states = [];
  const stream = new RunStream(
    "/events",
    "1-2",
    (kind, payload) => seen.push([kind, payload]),
    (one) => states.push(one),
  );
  stream.open();
  return { stream, seen, states, source: () => Source.opened.at(-1) };
}

test("waits double up to the longest, a quarter more or less, and begin anew after a success", () => {
  const waits = new Backoff(100, 300, () => 0.5);
  assert.deepEqual([waits.next(), waits.next(), waits.next(), waits.next()], [100, 200, 300, 300]);
  waits.reset();
  assert.equal(waits.next(), 100);
  assert.equal(new Backoff(100, 300, () => 0).next(), 75);
});

test("an event is passed on once and in order, a state each time", () => {
  const { stream, seen, source } = opened();
  assert.equal(source().address.searchParams.get("after"), "1-2");
  source().say("sample", "1-2", { t: 1 });
  source().say("sample", "1-10", { t: 2 });
  source().say("sample", "1-9", { t: 3 });
  source().say("state", "1-10", { status: "running" });
  source().say("sample", "2-1", { t: 4 });
  assert.deepEqual(seen, [
    ["sample", { t: 2 }],
    ["state", { status: "running" }],
    ["sample", { t: 4 }],
  ]);
  stream.close();
});

test("a lost stream is opened anew from the last event, an ended one is not", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { states, source } = opened();
  source().handlers.open();
  source().say("sample", "1-3");
  source().handlers.error();
  mock.timers.tick(1000);
  assert.equal(Source.opened.length, 2);
  assert.equal(source().address.searchParams.get("after"), "1-3");
  source().say("end", "1-99");
  source().handlers.error();
  mock.timers.tick(60000);
  assert.equal(Source.opened.length, 2);
  assert.deepEqual(states, ["live", "reconnecting", "ended"]);
  mock.timers.reset();
});

test("silence counts as a loss", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { stream, states, source } = opened();
  const first = source();
  mock.timers.tick(20000);
  assert.deepEqual([first.closed, states], [true, ["reconnecting"]]);
  stream.close();
  mock.timers.reset();
});

test("a page that nobody looks at holds no connection, and gets what it lacks when it is looked at again", () => {
  const { stream, seen, source } = opened();
  source().say("sample", "1-3", { t: 1 });
  show(false);
  assert.deepEqual([Source.opened.length, source().closed], [1, true]);
  show(true);
  assert.deepEqual([Source.opened.length, source().address.searchParams.get("after")], [2, "1-3"]);
  source().say("sample", "1-4", { t: 2 });
  assert.deepEqual(
    seen.map(([, payload]) => payload.t),
    [1, 2],
  );
  stream.close();
  show(false);
  show(true);
  assert.equal(Source.opened.length, 2);
});

test("a lost stream is not opened anew while nobody looks", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { stream, source } = opened();
  source().handlers.error();
  show(false);
  mock.timers.tick(60000);
  assert.equal(Source.opened.length, 1);
  show(true);
  assert.equal(Source.opened.length, 2);
  stream.close();
  mock.timers.reset();
});

test("where the stream is refused again and again the page polls until it finds a place", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { stream, states, source } = opened();
  for (let refused = 0; refused < 4; refused++) {
    source().handlers.error();
    mock.timers.tick(10000);
  }
  source().handlers.open();
  assert.deepEqual(states, ["reconnecting", "reconnecting", "polling", "polling", "live"]);
  source().handlers.error();
  assert.equal(states.at(-1), "reconnecting");
  stream.close();
  mock.timers.reset();
});
