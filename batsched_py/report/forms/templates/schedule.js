const AXES = 120; // pixels of the axes on both sides
const USER_COLUMNS = [
  ["jobs", "jobs", 1], ["wait", "mean wait [h]", 3600], ["slowdown", "mean bounded slowdown", 1],
  ["lateness", "mean lateness [h]", 3600], ["activity", "activity [d]", 86400], ["area", "work [processor h]", 3600],
];

/** The chart of a run in a width, with the rows of its data sets. */
function scheduleSpec(chart, width) {
  const rows = (columns) => (Object.values(columns)[0] ?? []).map((_, at) =>
    Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[at]])));
  const datasets = Object.fromEntries(Object.entries(chart.datasets).map(([name, columns]) => [name, rows(columns)]));
  const inner = Math.max(140, width - AXES);
  return { ...chart, datasets, vconcat: chart.vconcat.map((panel) => ({ ...panel, width: inner })) };
}

/** The labels of a run, if there are several. */
const ofRun = (row) => (data.runs.n > 1 ? `Run: ${runLabel(row)}. ` : "");

class Schedule {
  constructor(runs) {
    this.runs = runs;
    const select = byId("schedule-run");
    select.append(...runs.map((run, at) => make("option", { value: at }, runLabel(run.run))));
    const before = runs.findIndex((run) => runKey(run.run) === memory.get("schedule"));
    if (before > 0) select.value = before;
    select.addEventListener("change", () => this.choose(Number(select.value)));
    const upwards = byId("users-y");
    upwards.append(...USER_COLUMNS.filter(([name]) => name !== "jobs").map(([name, title]) => make("option", { value: name }, title)));
    upwards.addEventListener("change", () => this.drawUsers());
    keepPageMoving(byId("gantt"));
  }

  async choose(at) {
    this.run = this.runs[at];
    memory.set("schedule", runKey(this.run.run));
    byId("gantt-run").textContent = ofRun(this.run.run);
    await draw("gantt", (width) => scheduleSpec(this.run.chart, width));
    await this.drawUsers();
    this.tabulateUsers();
  }

  userRows() {
    const { users } = this.run;
    return (users.user ?? []).map((user, at) => ({ user,
      ...Object.fromEntries(USER_COLUMNS.map(([name, , scale]) => [name, users[name][at] == null ? null : users[name][at] / scale])) }));
  }

  async drawUsers() {
    const rows = this.userRows();
    const [field, title] = USER_COLUMNS.find(([name]) => name === byId("users-y").value);
    byId("users-chart").closest("figure").hidden = !rows.length;
    if (!rows.length) return;
    await draw("users-chart", (width) => ({
      width: "container", height: width < 560 ? 240 : 320, data: { values: rows },
      mark: { type: "circle", size: 70, opacity: 0.75 },
      encoding: {
        x: { field: "jobs", type: "quantitative", scale: { type: "log", nice: false, padding: 12 }, title: "jobs of the user", axis: { format: "~s", tickCount: 5 } },
        y: { field, type: "quantitative", title, scale: { type: "symlog", zero: false, nice: false, padding: 12 }, axis: { format: "~s", tickCount: 6 } },
        tooltip: [{ field: "user", title: "user", type: "nominal" },
          ...USER_COLUMNS.map(([name, text]) => ({ field: name, title: text, type: "quantitative", format: name === "jobs" ? "d" : ".4~g" }))],
      },
    }));
  }

  tabulateUsers() {
    const rows = this.userRows();
    byId("users-table").hidden = !rows.length;
    if (!rows.length) return;
    const columns = USER_COLUMNS.map(([name, title]) => ({ title, numeric: true, value: (row) => rows[row][name] }));
    columns.unshift({ title: "user", numeric: false, value: (row) => rows[row].user });
    this.table = new PagedTable(byId("users-table"), { id: "table-users", file: "users.csv", columns, count: rows.length, size: 10,
      title: `${rows.length} ${rows.length === 1 ? "user" : "users"}${data.runs.n > 1 ? ` (${runLabel(this.run.run)})` : ""}` });
  }
}

async function startSchedules() {
  const { runs } = data.schedules;
  await new Schedule(runs).choose(Number(byId("schedule-run").value) || 0);
}
