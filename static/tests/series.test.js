import "./texts.js";
import assert from "node:assert/strict";
import { test } from "node:test";

const { chartsOf, checkpointLabel, waitSeries } = await import("../js/run_series.js");

test("a wait's series has its type's color, a shade for each event, and the rest comes last", () => {
  const rows = [
    { t: 1, waits: { others: 1, "Lock:tuple": 2, CPU: 3 } },
    { t: 2, waits: { "Lock:transactionid": 1 } },
  ];
  assert.deepEqual(
    waitSeries(rows).map(({ label, color, shade, value }) => [label, color, shade, rows.map(value)]),
    [
      ["CPU", "--chart-5", "90%", [3, 0]],
      ["Lock: transactionid", "--chart-4", "90%", [0, 1]],
      ["Lock: tuple", "--chart-4", "60%", [2, 0]],
      ["others", "--chart-8", "90%", [1, 0]],
    ],
  );
});

test("the band of a latency is one deviation wide, not below 0, and absent where one is not known", () => {
  const [average] = chartsOf({ server: [] }).latency.series;
  const band = (latency_ms, stddev_ms) => average.band({ latency_ms, stddev_ms });
  assert.deepEqual([band(5, 2), band(1, 2), band(1, null)], [[3, 7], [0, 3], null]);
});

test("bytes are drawn in megabytes, and what was not seen stays empty", () => {
  const [wal] = chartsOf({ server: [] }).io.series;
  assert.deepEqual([wal.value({ wal_bytes_per_s: 2e6 }), wal.value({})], [2, null]);
});

test("a checkpoint is named by its causes", () => {
  assert.deepEqual(
    [checkpointLabel(1, 0), checkpointLabel(0, 1), checkpointLabel(1, 1)],
    ["checkpoint (timed)", "checkpoint (requested)", "checkpoint (timed, requested)"],
  );
});
