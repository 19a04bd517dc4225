const runValue = (name, row) => unpacked(data.runs.columns[name], row);
const words = (name) => name.replaceAll("_", " ");

/** The labels of a run that vary: "log KTH, policy easy". */
function runLabel(row) {
  const called = (name, value) => data.runs.names[name]?.[value] ?? shown(value);
  const labels = data.runs.axes.map((name) => `${words(name)} ${called(name, runValue(name, row))}`);
  return labels.join(", ") || `run ${row + 1}`;
}

function listOf(title, entries) {
  const items = entries.filter(([, value]) => value != null && value !== "" && value !== "{}");
  if (!items.length) return null;
  const terms = items.flatMap(([name, value, unit]) => [
    make("dt", {}, name), make("dd", {}, `${shown(value)}${unit && unit !== "1" ? ` ${unit}` : ""}`)]);
  return make("section", {}, make("h3", {}, title), make("dl", {}, ...terms));
}

function showDetails(row) {
  const { columns, metrics, settings, units } = data.runs;
  const isMetric = new Set(metrics);
  const command = data.runs.commands[row];
  const copied = make("output", {});
  const copy = make("button", { type: "button", class: "control", onclick: async () => {
    try { await navigator.clipboard.writeText(command); copied.value = " copied"; } catch { copied.value = " select it and copy"; }
  } }, "Copy");
  const of = (names, table) => names.map((name) => [words(name), unpacked(table[name], row), units[name]]);
  const own = Object.keys(columns).filter((name) => !isMetric.has(name));
  const sections = [
    command && make("section", {}, make("h3", {}, "Command that repeats it"), make("pre", {}, command), copy, copied),
    listOf("Labels, options and provenance", of(own, columns)),
    listOf("Stored with the results", of(Object.keys(settings), settings)),
    listOf("Metrics", of(metrics, columns)),
  ];
  byId("details-title").textContent = runLabel(row);
  byId("details-body").replaceChildren(...sections.filter(Boolean));
  byId("details").dataset.run = runKey(row);
  byId("details").showModal();
}

/** The name of a run, which a reload does not change. */
const runKey = (row) => String(data.runs.columns.folder ? runValue("folder", row) : row);

function startRuns() {
  const { n, shown: names, units } = data.runs;
  const button = (row) => make("button", { type: "button", class: "link", "aria-label": `Details of ${runLabel(row)}`,
    onclick: () => showDetails(row) }, `${row + 1}`);
  const isNumber = (name) => Array.from({ length: Math.min(n, 50) }, (_, row) => runValue(name, row))
    .every((value) => value == null || typeof value === "number");
  const title = (name) => {
    const unit = name === "wall_time" ? "s" : units[name];
    return `${words(name)}${unit && unit !== "1" ? ` [${unit}]` : ""}`;
  };
  const columns = names.map((name) => ({ title: title(name), numeric: isNumber(name), value: (row) => runValue(name, row) }));
  columns.unshift({ title: "run", numeric: true, value: (row) => row + 1, cell: button });
  data.runs.table = new PagedTable(byId("runs-table"), { id: "table-runs", file: "runs.csv", columns, count: n,
    filter: memory.get("filter") ?? "", title: `${n} finished ${n === 1 ? "run" : "runs"}` });
  byId("details").addEventListener("close", () => delete byId("details").dataset.run);
}
