const OTHERS = "other users";
const TIME_UNITS = [[86400, "days"], [3600, "hours"], [60, "minutes"]];
const USER_COLUMNS = [
  ["jobs", "jobs", 1], ["wait", "mean wait [h]", 3600], ["slowdown", "mean bounded slowdown", 1],
  ["lateness", "mean lateness [h]", 3600], ["activity", "activity [d]", 86400], ["area", "work [processor h]", 3600],
];

/** The six users with most work in the window have a colour each, the others share grey. */
function colouredUsers({ jobs }) {
  const work = new Map();
  jobs.user.forEach((user, at) => work.set(user, (work.get(user) ?? 0) + jobs.size[at] * (jobs.end[at] - jobs.start[at])));
  const most = [...work].filter(([user]) => user).sort((a, b) => b[1] - a[1]).slice(0, ON_LIGHT.length - 1);
  return most.map(([user]) => `user ${user}`);
}

function rectanglesOf(run, unit, known) {
  const { jobs } = run;
  return run.rectangles.map(([at, first, last]) => {
    const user = `user ${jobs.user[at]}`;
    return {
      id: jobs.id[at], group: known.includes(user) ? user : OTHERS, user: jobs.user[at] || "unknown", size: jobs.size[at],
      x: jobs.start[at] / unit, x2: jobs.end[at] / unit, y: first, y2: last + 1,
      submitted: lasting(jobs.submit[at]), started: lasting(jobs.start[at]), ended: lasting(jobs.end[at]),
      waited: lasting(jobs.start[at] - jobs.submit[at]), ran: lasting(jobs.end[at] - jobs.start[at]),
    };
  });
}

function ganttSpec(run, width) {
  const span = run.to - run.from;
  const [unit, name] = TIME_UNITS.find(([seconds]) => span >= 2 * seconds) ?? TIME_UNITS[2];
  const known = colouredUsers(run);
  const [from, to] = [run.from / unit, run.to / unit];
  const narrow = width < 560;
  const inner = Math.max(180, width - 78);
  const ticks = Math.max(4, Math.round(inner / 80));
  const steps = run.busy.processors.length;
  const levels = run.busy.processors.map((processors, at) => ({
    t: from + ((at + 0.5) / steps) * (to - from), processors, waiting: run.busy.waiting[at] }));
  const windowed = { domainMin: { expr: "from" }, domainMax: { expr: "to" }, nice: false, zero: false };
  const y = (field, title, scale) => ({ field, type: "quantitative", title, scale,
    axis: { minExtent: 40, maxExtent: 40, tickCount: 4, format: "~s" } });
  const tooltip = [["id", "job"], ["user", "user"], ["size", "processors"], ["submitted", "submitted"], ["started", "started"],
    ["ended", "ended"], ["waited", "waited"], ["ran", "ran"]].map(([field, title]) => ({ field, title, type: "nominal" }));
  return {
    spacing: 12,
    params: [{ name: "from", value: from }, { name: "to", value: to }],
    vconcat: [
      {
        width: inner, height: narrow ? 260 : 380,
        data: { values: rectanglesOf(run, unit, known) },
        params: [{ name: "chosen", select: { type: "point", fields: ["group"] }, bind: "legend" }],
        mark: { type: "rect", clip: true, stroke: colours().sheet, strokeWidth: 0.5, aria: false },
        encoding: {
          x: { field: "x", type: "quantitative", scale: windowed, title: null, axis: { grid: false, tickCount: ticks } },
          x2: { field: "x2" },
          y: { ...y("y", "processor", { domain: [0, run.nb_res], nice: false }) }, y2: { field: "y2" },
          color: { field: "group", type: "nominal", title: null, scale: { domain: [...known, OTHERS], range: [...palette().slice(0, known.length), palette().at(-1)] },
            legend: { orient: "top", direction: "horizontal", columns: narrow ? 2 : 7 } },
          opacity: { condition: { param: "chosen", value: 1 }, value: 0.15 },
          tooltip,
        },
      },
      {
        width: inner, height: 60, data: { values: levels },
        mark: { type: "area", clip: true, interpolate: "step", color: palette()[1], opacity: 0.7, aria: false },
        encoding: {
          x: { field: "t", type: "quantitative", scale: windowed, title: null, axis: { tickCount: ticks } }, y: y("waiting", "waiting"),
          tooltip: [{ field: "t", title: name, format: ".3f" }, { field: "waiting", title: "jobs waiting", format: ".1f" }],
        },
      },
      {
        width: inner, height: 50, data: { values: levels },
        layer: [
          { mark: { type: "area", interpolate: "step", color: palette()[0], opacity: 0.7, aria: false },
            params: [{ name: "brush", select: { type: "interval", encodings: ["x"] } }],
            encoding: { x: { field: "t", type: "quantitative", scale: { domain: [from, to], nice: false, zero: false }, axis: { tickCount: ticks },
              title: narrow ? `${name}; drag to choose` : `${name} since the simulation began; drag here to choose a window` },
              y: y("processors", "busy", { domain: [0, run.nb_res], nice: false }) } },
          { data: { values: [{}] }, mark: { type: "rect", color: colours().text, opacity: 0.15, aria: false, tooltip: null },
            encoding: { x: { datum: { expr: "from" }, type: "quantitative" }, x2: { datum: { expr: "to" } } } },
        ],
      },
    ],
    unit,
  };
}

/** Which run it is, where there are several. */
const ofRun = (row) => (data.runs.n > 1 ? `Run: ${runLabel(row)}. ` : "");

class Schedule {
  constructor(runs) {
    this.runs = runs;
    this.from = byId("gantt-from");
    this.length = byId("gantt-length");
    for (const slider of [this.from, this.length]) slider.addEventListener("input", () => this.slide());
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
    this.from.value = 0;
    this.length.value = 1000;
    await this.drawGantt();
    await this.drawUsers();
    this.tabulateUsers();
  }

  async drawGantt() {
    const { run } = this;
    const drawn = run.jobs.id.length;
    byId("gantt-caption").textContent = drawn
      ? `${ofRun(run.run)}${drawn} of the ${run.nb_ran} jobs that ran, from ${lasting(run.from)} to ${lasting(run.to)} of the simulated time, on ${run.nb_res} processors. ` +
        "A rectangle is a job on neighbouring processors; the six users with most work there have a colour each, a click on the legend picks one. Below: jobs that wait, busy processors."
      : "No job ran.";
    byId("gantt").hidden = !drawn;
    if (drawn) await draw("gantt", (width) => { const { unit, ...spec } = ganttSpec(run, width); this.unit = unit; return spec; }, (view) => this.watch(view));
  }

  watch(view) {
    this.view = view;
    view.addSignalListener("brush", (_, chosen) => {
      const [from, to] = chosen.t ?? [this.run.from / this.unit, this.run.to / this.unit];
      if (to - from > 1e-9) this.show(from * this.unit, to * this.unit, true);
    });
    this.slide();
  }

  slide() {
    const span = this.run.to - this.run.from;
    const length = (Number(this.length.value) / 1000) * span;
    const from = this.run.from + (Number(this.from.value) / 1000) * (span - length);
    this.show(from, from + length, false);
  }

  show(from, to, moveSliders) {
    const { run } = this;
    if (moveSliders) {
      const rest = run.to - run.from - (to - from);
      this.length.value = (1000 * (to - from)) / (run.to - run.from);
      this.from.value = rest > 0 ? (1000 * (from - run.from)) / rest : 0;
    }
    byId("gantt-window").value = `${lasting(from)} to ${lasting(to)}`;
    this.view.signal("from", from / this.unit).signal("to", to / this.unit).runAsync();
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
      title: `${rows.length} ${rows.length === 1 ? "user" : "users"} of ${data.runs.n > 1 ? `the run ${runLabel(this.run.run)}` : "the run"}` });
  }
}

async function startSchedules() {
  const { runs, note } = data.schedules;
  byId("schedule-note").textContent = note;
  if (!runs.length) return;
  byId("schedule-body").hidden = false;
  await new Schedule(runs).choose(Number(byId("schedule-run").value) || 0);
}
