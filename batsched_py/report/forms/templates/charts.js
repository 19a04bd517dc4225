// Okabe and Ito's colours without black and yellow, which need a certain background.
// Figures are drawn for a light page; page.css inverts them on a dark one.
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C"];
const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';

function chartConfig(narrow, panels) {
  const [text, muted, line] = ["#1b1f24", "#58616b", "#d5dae0"];
  const legend = { labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 12, labelLimit: 260 };
  Object.assign(legend, { symbolBaseFillColor: muted, symbolBaseStrokeColor: muted });
  if (narrow) Object.assign(legend, { orient: "bottom", direction: "vertical", columns: 1, labelLimit: 220 });
  else if (panels) legend.orient = "top"; // panels leave no room at the right
  return {
    background: null,
    font: FONT,
    axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: muted, tickColor: muted,
      labelFontSize: 12, labelSeparation: 4, titleFontSize: 12, titleFontWeight: 600, labelLimit: narrow ? 90 : 180 },
    legend,
    title: { color: text, subtitleColor: muted },
    header: { labelColor: text, titleColor: text, labelFontSize: 12 },
    view: { stroke: line },
    mark: { color: PALETTE[0] },
    rule: { color: muted },
    text: { color: text },
    range: { category: PALETTE, ramp: { scheme: "viridis" }, heatmap: { scheme: "viridis" }, diverging: { scheme: "blueorange" } },
  };
}

const LEAST_PANEL = 180; // pixels; wide panels stay at least 0.6 times as wide as they were made
const [OWN_AXIS, SHARED_AXIS] = [70, 30]; // pixels at the side of a panel

/** A panel that begins a row, with the labels of the first panel at its left. */
function withAxisOf(view, first) {
  const axisOf = (of) => of.encoding?.y ?? of.layer?.map(axisOf).find(Boolean);
  const { axis, field } = axisOf(first) ?? {};
  const labelled = (of) => ({
    ...of,
    ...(of.encoding?.y?.field === field && { encoding: { ...of.encoding, y: { ...of.encoding.y, axis } } }),
    ...(of.layer && { layer: of.layer.map(labelled) }),
  });
  return axis === null ? view : labelled(view);
}

/**
 * Panels side by side as far as there is room, together as wide as the page; else below each other.
 * `over`: the pixels by which the first drawing was too wide.
 */
function fitted(spec, width, over = 0) {
  const { hconcat, vconcat, ...others } = spec;
  if (vconcat) return { ...others, vconcat: vconcat.map((part) => fitted(part, width, over)) };
  const views = hconcat ?? (spec.columns ? [spec.spec] : []);
  const panel = Math.max(...views.map((view) => view.width));
  if (!(panel > 0)) return spec;
  const axis = hconcat || spec.resolve?.scale?.y === "independent" ? OWN_AXIS : SHARED_AXIS;
  const least = Math.max(LEAST_PANEL, 0.6 * panel) + axis;
  const columns = Math.max(1, Math.min(hconcat?.length ?? spec.columns, Math.floor(width / least)));
  const wide = Math.max(100, Math.floor((width - over) / columns) - axis);
  const widened = (view, at) => ({ ...(at && at % columns === 0 ? withAxisOf(view, views[0]) : view), width: wide });
  return hconcat ? { ...others, columns, concat: hconcat.map(widened) } : { ...others, columns, spec: widened(spec.spec) };
}

const NARROW = 560;

/** All charts of the page by the id of their element: they are drawn again in another width. */
const charts = new Map();

/** Draw; `spec` is a function of the element's width, `after(view)` is called each time. */
async function draw(id, spec, after = () => {}) {
  charts.set(id, { spec, after, view: charts.get(id)?.view });
  await redraw(id);
}

async function redraw(id) {
  const chart = charts.get(id);
  const element = byId(id);
  const width = element.clientWidth;
  try {
    chart.view?.finalize();
    const view = await drawn(element, chart.spec(width), width);
    Object.assign(chart, { view, width });
    element.view = view;
    element.querySelector("summary")?.setAttribute("aria-label", "Save this figure");
    chart.after(view);
  } catch (error) {
    element.classList.add("bad");
    element.dataset.error = `This figure cannot be drawn: ${error.message}`;
  }
}

/** Draw; if panels do not fill the width, or are wider, draw again with the width corrected. */
async function drawn(element, spec, width) {
  const { view } = await embedded(element, fitted(spec, width), width);
  const over = element.querySelector("svg.marks").getAttribute("width") - width;
  if (fitted(spec, width) === spec || (over <= 0 && over >= -SPARE)) return view;
  view.finalize();
  return (await embedded(element, fitted(spec, width, over + SPARE / 2), width)).view;
}

const SPARE = 12; // pixels at the right that may stay empty

function embedded(element, spec, width) {
  element.classList.toggle("filling", spec.width === "container");
  return vegaEmbed(element, spec, {
    mode: "vega-lite",
    renderer: "svg",
    config: chartConfig(width < NARROW, spec.width !== "container"),
    actions: { export: { png: true, svg: true }, source: false, compiled: false, editor: false },
    downloadFileName: element.id.replace("figure-", ""),
    scaleFactor: { png: 2 },
    loader: { load: () => Promise.reject(new Error("reports request no files")) },
  });
}

/** Until a chart is clicked or has the focus, wheel and fingers move the page and not the chart. */
function keepPageMoving(element) {
  const guard = (event) => {
    if (!element.contains(document.activeElement)) event.stopPropagation();
  };
  element.addEventListener("pointerup", () => element.focus({ preventScroll: true }));
  element.addEventListener("wheel", guard, { capture: true, passive: true });
  element.addEventListener("touchstart", guard, { capture: true, passive: true });
  element.addEventListener("touchmove", guard, { capture: true, passive: true });
}

function isZoomable(part) {
  if (Array.isArray(part)) return part.some(isZoomable);
  if (part === null || typeof part !== "object") return false;
  if (part.bind === "scales") return true;
  return Object.entries(part).some(([key, value]) => !["data", "datasets"].includes(key) && isZoomable(value));
}

/** The rows of all data sets in a specification. */
function rowsOf(spec) {
  const sets = Object.values(spec.datasets ?? {});
  const visit = (part) => {
    if (part === null || typeof part !== "object") return;
    if (Array.isArray(part.data?.values)) sets.push(part.data.values);
    for (const key of ["layer", "hconcat", "vconcat", "concat"]) (part[key] ?? []).forEach(visit);
    visit(part.spec ?? null);
  };
  visit(spec);
  const several = sets.length > 1;
  return sets.flatMap((rows, set) => rows.map((row) => (several ? { data_set: set + 1, ...row } : row)));
}

function saveData(name) {
  const rows = rowsOf(data.figures[name]);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  save(`${name}.csv`, csvOf(names, rows.map((row) => names.map((key) => row[key]))));
}

async function startCharts() {
  for (const button of document.querySelectorAll("[data-csv]")) {
    button.addEventListener("click", () => saveData(button.dataset.csv));
  }
  for (const element of document.querySelectorAll("[data-figure]")) {
    const spec = data.figures[element.dataset.figure];
    if (isZoomable(spec)) {
      keepPageMoving(element);
      element.closest("figure").querySelector(".hint").hidden = false;
    }
    await draw(element.id, () => spec);
  }
}

/** Charts whose width is a number, or whose legend moves, are drawn again in another width. */
function watchWidth() {
  let timer;
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      fitTables();
      for (const [id, chart] of charts) {
        const width = byId(id).clientWidth;
        if (width && chart.width && Math.abs(width - chart.width) > 8) redraw(id);
      }
    }, 200);
  }).observe(byId("main"));
}

const PAPER = 660; // pixels of a sheet's width

/** For print: tables that are too wide are made smaller, as page.css makes figures. */
function fitToPaper() {
  addEventListener("beforeprint", () => {
    for (const table of document.querySelectorAll("table")) {
      const wide = table.offsetWidth * 0.8;
      if (wide > PAPER) table.style.zoom = String(PAPER / wide);
    }
  });
  addEventListener("afterprint", () => {
    for (const table of document.querySelectorAll("table")) table.style.zoom = "";
  });
}
