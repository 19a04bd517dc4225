const collator = new Intl.Collator("en", { numeric: true });

/** Values in order: numbers before texts, what is missing last whatever the direction. */
function compare(a, b, direction) {
  const nothing = (value) => value == null || value === "" || value === NOTHING;
  if (nothing(a) || nothing(b)) return nothing(a) - nothing(b);
  if (typeof a === "number" && typeof b === "number") return direction * (a - b);
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return direction * collator.compare(a, b);
}

/** Make headings buttons; `sort(place, direction)` is called with direction 1, -1 or 0 (as it was). */
function sortableHeadings(headings, sort) {
  headings.forEach((heading, place) => {
    if (heading.classList.contains("button")) return; // a column of buttons
    const title = [...heading.childNodes];
    const button = make("button", { type: "button" }, ...title);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const direction = before === "ascending" ? -1 : before === "descending" ? 0 : 1;
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (direction) heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      sort(place, direction);
    });
  });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const value = (row, place) => {
    const cell = row.cells[place];
    return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
  };
  sortableHeadings([...table.tHead.rows[0].cells], (place, direction) => {
    const sorted = [...rows];
    if (direction) sorted.sort((a, b) => compare(value(a, place), value(b, place), direction));
    body.append(...sorted);
  });
}

/** Fit a table into the width: with smaller text, or else with a block of labelled values per row. */
function fitTable(table) {
  const labels = [...table.tHead.rows[0].cells].map((heading) => heading.dataset.label ?? heading.textContent.trim());
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => {
    cell.dataset.label = labels[at];
    cell.classList.toggle("nothing", ["", NOTHING].includes(cell.textContent.trim()));
  });
  const box = table.closest(".scroll");
  const fits = () => box.scrollWidth <= box.clientWidth + 1;
  table.classList.remove("dense", "stacked");
  if (!fits()) table.classList.add("dense");
  if (!fits()) table.classList.add("stacked");
}

const fitTables = () => document.querySelectorAll(".scroll > table").forEach(fitTable);

const classOf = (column) => (column.cell ? "button" : column.numeric ? "number" : null);

/**
 * A table of many rows, some of them at a time, with a filter.
 * `columns`: {title, numeric, value(row), cell(row)?}; rows are numbers 0..count-1.
 */
class PagedTable {
  constructor(place, { id, title, file, columns, count, size = 25, filter = "" }) {
    Object.assign(this, { columns, count, size, file, at: 0, place: null, direction: 0 });
    this.texts = Array.from({ length: count }, (_, row) =>
      columns.map((column) => String(column.value(row) ?? "")).join(" ").toLowerCase());
    this.search = make("input", { type: "search", id: `${id}-filter`, placeholder: "words, all of them", value: count > 1 ? filter : "",
      oninput: () => { this.at = 0; this.update(); } });
    this.status = make("output", { for: `${id}-filter` });
    this.body = make("tbody");
    const headings = columns.map((column) =>
      make("th", { scope: "col", class: classOf(column) }, column.title));
    sortableHeadings(headings, (at, direction) => {
      Object.assign(this, { place: at, direction, at: 0 });
      this.update();
    });
    const table = make("table", { id }, make("caption", {}, make("span", {}, title)), make("thead", {}, make("tr", {}, ...headings)), this.body);
    this.back = make("button", { type: "button", class: "control", onclick: () => this.turn(-1) }, "Previous");
    this.next = make("button", { type: "button", class: "control", onclick: () => this.turn(1) }, "Next");
    const csv = make("button", { type: "button", class: "link", onclick: () => this.save() }, "CSV of these rows");
    place.replaceChildren(
      make("p", { class: "controls", hidden: count < 2 }, make("label", {}, "Filter ", this.search), this.status),
      make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": title }, table),
      make("p", { class: "controls pager" }, this.back, this.next),
      make("p", { class: "tools" }, csv));
    this.update();
  }

  turn(by) {
    this.at += by * this.size;
    this.show();
  }

  update() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.rows = [];
    for (let row = 0; row < this.count; row++) {
      if (words.every((word) => this.texts[row].includes(word))) this.rows.push(row);
    }
    if (this.direction) {
      const { value } = this.columns[this.place];
      this.rows.sort((a, b) => compare(value(a), value(b), this.direction) || a - b);
    }
    this.show();
  }

  show() {
    const rows = this.rows.slice(this.at, this.at + this.size);
    this.body.replaceChildren(...rows.map((row) => make("tr", {}, ...this.columns.map((column) =>
      make("td", { class: classOf(column) }, column.cell ? column.cell(row) : shown(column.value(row)))))));
    const last = this.at + rows.length;
    this.status.value = rows.length ? `${this.at + 1} to ${last} of ${this.rows.length}` : "nothing found";
    this.back.disabled = this.at === 0;
    this.next.disabled = last >= this.rows.length;
    this.back.parentElement.hidden = this.rows.length <= this.size;
    fitTable(this.body.parentElement);
  }

  save() {
    const kept = this.columns.filter((column) => !column.cell);
    save(this.file, csvOf(kept.map((column) => column.title), this.rows.map((row) => kept.map((column) => column.value(row)))));
  }
}
