"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const NOTHING = "\u2013";

/** An element with attributes and children; texts are never read as HTML. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** A value as text: four significant digits, never fewer than those before the point. */
function shown(value) {
  if (value == null || value === "") return NOTHING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) return value.toExponential(3);
  const before = Math.floor(Math.log10(size)) + 1;
  return value.toFixed(Math.max(0, 4 - before));
}

/** The value of a packed column in a row (runs_table.py). */
function unpacked(column, row) {
  if (column.v) return column.v[row];
  return column.u[column.i ? column.i[row] : 0];
}

/** A table for a spreadsheet: what would be a formula there gets an apostrophe (csv_text.py). */
function csvOf(names, rows) {
  const field = (value) => {
    const given = value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    const text = /^[=+@\t\r\n\uff1d\uff0b\uff20\uff0d-]./s.test(given) && isNaN(given) ? `'${given}` : given;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";
}

function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** What outlives a reload of the page; nothing where the browser keeps nothing. */
const memory = {
  get(key) {
    try { return JSON.parse(sessionStorage.getItem(`report:${location.pathname}:${key}`)); } catch { return null; }
  },
  set(key, value) {
    try { sessionStorage.setItem(`report:${location.pathname}:${key}`, JSON.stringify(value)); } catch { /* private */ }
  },
};

/** A page that loads itself again stays where it was read. */
function keepPlace() {
  history.scrollRestoration = "manual";
  scrollTo({ top: memory.get("scroll") ?? 0, behavior: "instant" });
  addEventListener("pagehide", () => {
    memory.set("scroll", scrollY);
    memory.set("filter", data.runs?.table?.search.value ?? "");
  });
}
