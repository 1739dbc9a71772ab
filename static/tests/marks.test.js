import "./texts.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Marks, placed } from "../js/chart_marks.js";
import { moved } from "../js/chart_points.js";
import { spoken } from "../js/chart_readout.js";

const marked = (...list) => {
  const marks = new Marks();
  marks.push(...list);
  return marks;
};
const at = (t, kind = "run", label = `at ${t}`) => ({ t, kind, label });

test("kinds of marks are hidden and shown again", () => {
  const marks = marked(at(1), at(2, "size"));
  marks.show("size", false);
  assert.deepEqual(
    marks.shown.map(({ t }) => t),
    [1],
  );
  marks.show("size", true);
  assert.equal(marks.shown.length, 2);
});

test("marks that come again are added once", () => {
  const marks = marked(at(1), at(2, "size"));
  const again = [at(2, "size"), at(2), at(3)];
  assert.deepEqual(marks.add(again), [at(2), at(3)]);
  assert.deepEqual(marks.add(again), []);
  assert.equal(marks.list.length, 4);
});

test("a row has the marks of its step, those of a moment only the ones at it", () => {
  const marks = marked(at(119), at(60), at(61), at(59.9), at(120));
  const times = (found) => found.map(({ t }) => t);
  assert.deepEqual(times(marks.within(60, 60)), [60, 61, 119]);
  assert.deepEqual(times(marks.within(60, 0)), [60]);
});

test("the nearest mark is found within a distance only", () => {
  const marks = marked(at(10), at(14));
  assert.equal(marks.near(11, 3).t, 10);
  assert.equal(marks.near(13, 3).t, 14);
  assert.equal(marks.near(20, 3), null);
  assert.equal(marked().near(1, 3), null);
});

test("names stand beside their marks, in a second line where there is no room, and not at all where there is none", () => {
  const place = (...list) =>
    placed(
      list,
      (t) => t,
      () => 40,
      { left: 0, right: 200 },
    );
  assert.deepEqual(
    place(at(10), at(190)).map(({ x, at: where, align, y }) => [x, where, align, y]),
    [
      [10, 14, "left", 0],
      [190, 186, "right", 0],
    ],
  );
  const crowd = place(...[50, 52, 54, 56, 58, 60].map((t) => at(t)));
  assert.ok(crowd.some(({ y }) => y > 0));
  assert.ok(crowd.some(({ at: where }) => where === null));
  assert.deepEqual(place(at(-1), at(201)), []);
});

test("the cursor moves from row to row, over gaps, and stays at the ends", () => {
  const rows = [{ t: 0, v: 1 }, { t: 60, v: 2 }, { t: 120 }, { t: 180, v: null }, { t: 240, v: 3 }];
  const all = [0, 300];
  assert.equal(moved(rows, all, null, 1), 0);
  assert.equal(moved(rows, all, null, -1), 240);
  assert.equal(moved(rows, all, 60, 1), 180);
  assert.equal(moved(rows, all, 180, -1), 60);
  assert.equal(moved(rows, all, 70, 1), 180);
  assert.equal(moved(rows, all, 70, -1), 60);
  assert.equal(moved(rows, all, 240, 1), 240);
  assert.equal(moved(rows, all, 240, -Infinity), 0);
  assert.equal(moved(rows, all, null, Infinity), 240);
  assert.equal(moved(rows, [50, 200], null, -Infinity), 60);
  assert.equal(moved([], all, null, 1), null);
});

test("a moment is told with its figures, their units and what happened", () => {
  const figures = [
    { label: "clients waiting", value: 0, unit: "clients" },
    { label: "query", value: null, unit: "ms" },
    { label: "queries", value: 12.5, unit: "queries/s" },
  ];
  assert.equal(
    spoken("Thu 16:12", figures, [{ label: "size 3 → 7", text: "Revision 4 applied: size 3 → 7" }]),
    "Thu 16:12 · Revision 4 applied: size 3 → 7 · clients waiting: 0 · queries: 12.50 queries/s",
  );
  assert.equal(spoken("Thu 16:12", []), "Thu 16:12 · nothing recorded");
});
