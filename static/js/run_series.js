/** The charts of a run: what each draws, from which rows. */

const TYPES = {
  CPU: "--chart-5",
  Client: "--chart-1",
  IO: "--chart-2",
  LWLock: "--chart-3",
  Lock: "--chart-4",
  IPC: "--chart-6",
  Timeout: "--chart-7",
};
const OTHER = "--chart-8";
const SHADES = ["90%", "60%", "38%", "22%"]; // of the events of one type
const REST = "others"; // the many rare ones, told together

const field = (name) => (row) => row[name] ?? null;
const scaled = (name, by) => (row) => ((row[name] ?? null) === null ? null : row[name] / by);
const spread = ({ latency_ms: mean, stddev_ms: by }) =>
  mean === null || by === null ? null : [Math.max(0, mean - by), mean + by];

/** A maker of series on the same rows. */
const on = (rows, unit) => (label, color, value, more) => ({
  label,
  color,
  unit,
  rows,
  value: typeof value === "string" ? field(value) : value,
  ...more,
});

/**
 * `{key: {title, rows, series, options?}}` in the page's order; `rows` by kind: samples, pool, pooler, server, host,
 * generator. A chart is shown once a series of it has a value; what the pooler leaves `uncounted` is not named.
 */
export function chartsOf(rows, uncounted = []) {
  const { samples, pool, pooler, server, host, generator } = rows;
  const ms = on(samples, "ms");
  const queue = on(pooler, "ms");
  const clients = on(pool, "connections");
  const all = on(pooler, "connections");
  const states = on(server, "connections");
  const perSecond = on(server, "/s");
  const io = on(server, "MB/s");
  const share = on(host, "%");
  const memory = on(host, "GB");
  const disks = on(host, "MB/s");
  const cores = on(generator, "%");
  const MB = 1e6;
  const GB = 1e9;
  const optional = { optional: true };
  const waiting = { optional: uncounted.includes("cl_waiting") };
  return {
    tps: { title: gettext("Throughput"), series: [on(samples, "tps")("tps", "--chart-1", "tps")] },
    latency: {
      title: gettext("Latency"),
      series: [
        ms(gettext("average"), "--chart-2", "latency_ms", { band: spread }),
        ms("p50", "--chart-5", "latency_p50_ms", optional),
        ms("p95", "--chart-3", "latency_p95_ms", optional),
        ms("p99", "--chart-4", "latency_p99_ms", optional),
      ],
    },
    split: {
      title: gettext("Queue and service"),
      options: { stacked: true },
      series: [queue(gettext("service"), "--chart-1", "service_ms"), queue(gettext("queue"), "--chart-4", "wait_ms")],
    },
    pool: {
      title: gettext("Pool"),
      series: [
        clients(gettext("clients waiting"), "--chart-4", "cl_waiting", waiting),
        clients(gettext("clients active"), "--chart-3", "cl_active"),
        clients(gettext("servers active"), "--chart-5", "sv_active"),
      ],
    },
    maxwait: {
      title: gettext("Longest wait"),
      series: [on(pool, "ms")(gettext("longest wait"), "--chart-4", "maxwait_ms")],
    },
    pooler: {
      title: gettext("The whole pooler"),
      series: [
        all(gettext("clients waiting"), "--chart-4", "all_cl_waiting", waiting),
        all(gettext("clients active"), "--chart-3", "all_cl_active"),
        all(gettext("servers active"), "--chart-5", "all_sv_active"),
      ],
    },
    waits: { title: gettext("Wait events"), options: { stacked: true }, series: waitSeries(server) },
    states: {
      title: gettext("Connections"),
      options: { stacked: true },
      series: [
        states(gettext("active"), "--chart-5", state("active")),
        states(gettext("idle in transaction"), "--chart-2", state("idle in transaction")),
        states(gettext("in a failed transaction"), "--chart-4", state("idle in transaction (aborted)"), optional),
        states(gettext("idle"), "--chart-1", state("idle")),
        states(gettext("hidden"), OTHER, state("hidden"), optional),
      ],
    },
    transactions: {
      title: gettext("Transactions on the server"),
      series: [
        perSecond(gettext("commits"), "--chart-1", "commits_per_s"),
        perSecond(gettext("rollbacks"), "--chart-4", "rollbacks_per_s"),
      ],
    },
    blocks: {
      title: gettext("Data blocks"),
      series: [
        perSecond(gettext("found in shared buffers"), "--chart-5", "blocks_hit_per_s"),
        perSecond(gettext("read"), "--chart-2", "blocks_read_per_s"),
      ],
    },
    io: {
      title: gettext("Server I/O"),
      options: { marksNamed: true },
      series: [
        io("WAL", "--chart-3", scaled("wal_bytes_per_s", MB)),
        io(gettext("temporary files"), "--chart-4", scaled("temp_bytes_per_s", MB)),
        io(gettext("read"), "--chart-1", scaled("read_bytes_per_s", MB), optional),
        io(gettext("written"), "--chart-2", scaled("written_bytes_per_s", MB), optional),
      ],
    },
    processors: {
      title: gettext("Host: processors"),
      options: { most: 100 },
      series: [
        share(gettext("busy"), "--chart-1", "cpu_percent"),
        share(gettext("idle, waiting for disks"), "--chart-2", "waiting_percent"),
      ],
    },
    memory: {
      title: gettext("Host: memory"),
      series: [
        memory(gettext("available"), "--chart-5", scaled("memory_available_bytes", GB)),
        memory(gettext("page cache"), "--chart-3", scaled("page_cache_bytes", GB)),
        memory(gettext("free"), "--chart-1", scaled("memory_free_bytes", GB)),
      ],
    },
    disks: {
      title: gettext("Host: disks"),
      series: [
        disks(gettext("read"), "--chart-1", scaled("read_bytes_per_s", MB)),
        disks(gettext("written"), "--chart-2", scaled("written_bytes_per_s", MB)),
      ],
    },
    generator: {
      title: gettext("Generator"),
      series: [
        cores(gettext("the load"), "--chart-1", "cpu_percent"),
        cores(gettext("of what its threads can use"), "--chart-4", "busy_percent", { dashed: true }),
        cores("PgBouncer", "--chart-3", "pooler_cpu_percent", optional),
        cores(gettext("the products service"), "--chart-2", "service_cpu_percent", optional),
        cores(gettext("the whole host, of all cores"), OTHER, "host_cpu_percent"),
      ],
    },
  };
}

const state = (name) => (row) => row.states?.[name] ?? 0;

/** A series for each wait that the rows speak of: a color for each type, a shade for each event of it. */
export function waitSeries(server) {
  const names = [...new Set(server.flatMap(({ waits }) => Object.keys(waits ?? {})))].sort(inOrder);
  const seen = new Map();
  return names.map((name) => {
    const [type] = name.split(":");
    const place = seen.get(type) ?? 0;
    seen.set(type, place + 1);
    return {
      label: name.replace(":", ": "),
      color: TYPES[type] ?? OTHER,
      shade: SHADES[Math.min(place, SHADES.length - 1)],
      unit: "sessions",
      rows: server,
      value: (row) => row.waits?.[name] ?? 0,
    };
  });
}

/** Types in the order of their colors, the rest at the end. */
function inOrder(one, two) {
  const order = Object.keys(TYPES);
  const place = (name) => (name === REST ? 99 : (order.indexOf(name.split(":")[0]) + 50) % 50);
  return place(one) - place(two) || one.localeCompare(two);
}

/** The words of a checkpoint's mark. */
export function checkpointLabel(timed, requested) {
  if (timed && requested) return gettext("checkpoint (timed, requested)");
  return timed ? gettext("checkpoint (timed)") : gettext("checkpoint (requested)");
}
