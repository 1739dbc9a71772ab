import "./texts.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { budget, sentence, typed } from "../js/budget_figures.js";
import { exact, left, rounded, seconds, sized, tick, waited } from "../js/run_figures.js";

test("figures are rounded to digits that matter", () => {
  assert.deepEqual([1234.5, 812.44, 9.876, 0.1666, 0, -8.714, null, Number.NaN].map(rounded), [
    "1,235",
    "812.4",
    "9.88",
    "0.167",
    "0",
    "−8.71",
    "–",
    "–",
  ]);
});

test("an exact figure has its unit, and says where there is none", () => {
  assert.deepEqual([exact(1.25, "ms"), exact(null, "ms")], ["1.25 ms", "not printed"]);
});

test("labels of an axis are short", () => {
  assert.deepEqual([0.25, 999, 60000, 1234567].map(tick), ["0.25", "999", "60K", "1.2M"]);
});

test("seconds are told in hours, minutes and seconds, without what is nothing", () => {
  assert.deepEqual([0, 0.5, 42, 185, 7440, 3600].map(seconds), [
    "0 s",
    "0.5 s",
    "42 s",
    "3 min 5 s",
    "2 h 4 min",
    "1 h",
  ]);
});

test("what is left of a time", () => {
  assert.deepEqual([left(42), left(60), left(185)], ["42 s left", "1 min 0 s left", "3 min 5 s left"]);
});

test("bytes are told in the unit that keeps them short", () => {
  assert.deepEqual([0, 812, 1536, 2e8, undefined].map(sized), ["0 bytes", "812 bytes", "1.5 kB", "191 MB", "–"]);
});

test("a budget tells what a pool leaves, and how long its bar is", () => {
  assert.deepEqual(budget({ available: 100, allocated: 60, takes: 10 }), { free: 40, left: 30, from: 60, width: 10 });
  assert.deepEqual(budget({ available: 100, allocated: 60, takes: 50 }), { free: 40, left: -10, from: 60, width: 40 });
  assert.deepEqual(budget({ available: 0, allocated: 0, takes: 1 }), { free: 0, left: -1, from: 0, width: 0 });
  assert.equal(sentence({ free: 40, left: 30 }), "%(count)s of 40 free ones left after this pool");
  assert.equal(sentence({ free: -3, left: -10 }), "%(count)s over the budget: 0 are free");
  assert.deepEqual(["12", "-4", "x", undefined].map(typed), [12, 0, 0, 0]);
});

test("a wait is written as events write it", () => {
  assert.deepEqual([0.1666, 850, 29040, 125_000, null].map(waited), ["0.167 ms", "850 ms", "29.0 s", "2 min 5 s", "–"]);
});
