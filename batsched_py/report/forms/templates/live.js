const POLL = 2000;

let told;

function showState(state) {
  if (JSON.stringify(state) === told) return; // else it would be read aloud again
  told = JSON.stringify(state);
  const { done, planned, failed } = state;
  const left = planned - done - failed;
  byId("progress").textContent = `${done} of ${planned} runs done` + (failed ? `, ${failed} failed` : "") +
    (left > 0 ? `, ${left} to go` : ". The campaign has ended.");
  byId("bar").value = planned ? (done + failed) / planned : 0;
  byId("build-error").hidden = !state.error;
  byId("build-error").textContent = state.error ? `The report could not be made from the runs that are there: ${state.error}` : "";
  byId("by-axis").hidden = !state.axes.length;
  const rows = state.axes.flatMap(({ name, values }) => values.map(({ value, done: some, planned: all }, at) => make("tr", {},
    make("th", { scope: "row" }, at ? "" : spoken(name)), make("td", {}, value), make("td", { class: "number" }, all == null ? `${some}` : `${some} of ${all}`))));
  const heading = make("tr", {}, ...["axis", "value", "done"].map((text) => make("th", { scope: "col" }, text)));
  byId("axes").replaceChildren(make("table", {}, make("thead", {}, heading), make("tbody", {}, ...rows)));
}

function remember() {
  memory.set("scroll", scrollY);
  memory.set("dialog", byId("details").dataset.run ?? null);
  memory.set("filter", data.runs?.table?.search.value ?? "");
  memory.set("open", Object.fromEntries([...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open])));
}

/** After a reload all is where it was. */
function restore() {
  for (const [id, open] of Object.entries(memory.get("open") ?? {})) if (byId(id)) byId(id).open = open;
  const key = memory.get("dialog");
  const row = key && data.runs ? Array.from({ length: data.runs.n }, (_, at) => at).find((at) => runKey(at) === key) : undefined;
  if (row !== undefined) showDetails(row);
  if (memory.get("scroll")) scrollTo({ top: memory.get("scroll"), behavior: "instant" });
}

async function poll() {
  try {
    const answer = await fetch("state.json", { cache: "no-store" });
    const state = await answer.json();
    if (state.page !== data.live.page) {
      remember();
      location.reload();
      return;
    }
    showState(state);
  } catch {
    byId("progress").textContent = "The server has ended; this is the last page that it made.";
  }
  setTimeout(poll, POLL);
}

function startLive() {
  showState(data.live);
  history.scrollRestoration = "manual";
  setTimeout(poll, POLL);
}
