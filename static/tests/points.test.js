import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, Points, rowsOf, tallest, withGaps } from "../js/chart_points.js";
import { Zoom } from "../js/chart_zoom.js";

const rows = (...values) => values.map((v, t) => ({ t, v }));
const value = ({ v }) => v;

test("points are made for new rows only, in the same array", () => {
  const points = new Points(value);
  const all = rows(1, 2);
  points.follow(all);
  const [first] = points.list;
  all.push({ t: 2, v: undefined });
  points.follow(all);
  assert.equal(points.list[0], first);
  assert.deepEqual(
    points.list.map(({ x, y }) => [x, y]),
    [
      [0, 1],
      [1, 2],
      [2, null],
    ],
  );
});

test("a point between gaps is lone, until a neighbor has a value", () => {
  const points = new Points(value);
  const lone = () => points.list.map((one) => one.lone);
  const all = rows(1, undefined, 2, undefined, 3);
  points.follow(all);
  assert.deepEqual([lone(), points.lone], [[true, false, true, false, true], 3]);
  all.push({ t: 5, v: 4 });
  points.follow(all);
  assert.deepEqual([lone(), points.lone], [[true, false, true, false, false, false], 2]);
  points.clear();
  assert.equal(points.lone, 0);
});

test("points begin anew where the rows are other ones, or the first of them are gone", () => {
  const points = new Points(value);
  points.follow(rows(1, 2, 3));
  points.follow(rows(4, 5));
  assert.deepEqual(
    points.list.map(({ y }) => y),
    [4, 5],
  );
  const all = rows(6, 7, 8);
  points.follow(all);
  all.shift();
  points.follow(all);
  assert.deepEqual(
    points.list.map(({ y }) => y),
    [7, 8],
  );
});

test("a line counts as filled once a value but 0 came", () => {
  const points = new Points(value);
  points.follow(rows(0, null));
  assert.equal(points.filled, false);
  points.follow(rows(0, 3));
  assert.equal(points.filled, true);
});

test("splicing names how many go, as Chart.js' listener takes that for given", () => {
  const points = new Points(value);
  points.follow(rows(1, 2));
  let asked;
  points.list.splice = (...words) => {
    asked = words;
  };
  points.clear();
  assert.deepEqual(asked, [0, 2]);
});

test("the nearest row, of two at the same distance the earlier", () => {
  assert.equal(nearest(rows(5, 6, 7), 1.5).t, 1);
  assert.equal(nearest(rows(5, 6, 7), 99).t, 2);
  assert.equal(nearest([], 1), undefined);
});

test("of many rows the highest of each group is kept, whatever the count", () => {
  const many = Array.from({ length: 1001 }, (_, t) => ({ t, v: t === 500 ? 9 : 1 }));
  for (const count of [400, 333, 1000]) {
    const kept = tallest(many, [0, 1000], count, value);
    assert.equal(kept.length, count);
    assert.ok(kept.some(({ t }) => t === 500));
  }
  assert.equal(tallest(many, [0, 1000], 1001, value), many);
  assert.deepEqual(
    tallest(many, [100, 102], 400, value).map(({ t }) => t),
    [99, 100, 101, 102],
  );
});

test("a table becomes rows, and a row without values breaks the line where time is missing", () => {
  const found = rowsOf({
    columns: ["t", "v"],
    rows: [
      [0, 1],
      [1, 2],
      [5, 3],
    ],
  });
  assert.deepEqual(withGaps(found, 1.5, 1), [{ t: 0, v: 1 }, { t: 1, v: 2 }, { t: 2 }, { t: 5, v: 3 }]);
  assert.deepEqual(rowsOf(), []);
});

test("zoomed views lie in the whole, are undone one by one, and stay while the whole grows", () => {
  const zoom = new Zoom(0, 10);
  zoom.into([12, 4]);
  zoom.into([5, 6]);
  zoom.reach(0, 20);
  assert.deepEqual(zoom.range, [5, 6]);
  zoom.undo();
  assert.deepEqual(zoom.range, [4, 10]);
  zoom.undo();
  assert.deepEqual([zoom.range, zoom.isZoomed], [[0, 20], false]);
});
