// Views that several instruments share.

import { h } from "./frame.js"

const plain = x => String(x).replace("-", "−").replace("Infinity", "∞")

// A number as a table shows it: two digits behind the point, and what is no number by name.
export function shown(x, digits = 2) {
  if (typeof x === "boolean") return x ? "T" : "F"
  if (Number.isNaN(x)) return "NaN"
  if (!Number.isFinite(x)) return plain(x)
  if (Math.abs(x) >= 1e4) return plain(x.toExponential(0).replace("e+", "e"))
  return plain(Number.isInteger(x) && digits === 0 ? x : x.toFixed(digits))
}

// A table of numbers, darker where they are larger.
//   rows, columns: their labels; heat: x => 0 to 1; mark: (x, i, j) => class names; digits
//   sums: numbers behind the rows, with their label
export function grid(caption, list, { rows = [], columns = [], heat = () => 0, mark = () => "", digits = 2, sums, corner = "" } = {}) {
  const head = h("tr", {}, h("td", {}, corner), columns.map(label => h("th", { scope: "col" }, label)), sums ? h("th", { scope: "col", class: "sum" }, sums.label) : null)
  const body = list.map((row, i) => h("tr", {},
    h("th", { scope: "row" }, rows[i] ?? ""),
    row.map((x, j) => h("td", { class: mark(x, i, j), style: `--heat: ${Math.min(1, Math.max(0, heat(x) || 0)).toFixed(3)}` }, shown(x, digits))),
    sums ? h("td", { class: `sum ${sums.mark(sums.values[i])}` }, shown(sums.values[i], 2)) : null))
  return h("table", { class: "numbers" }, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, body))
}

export const inWords = list => list.join(", ").replace(/, ([^,]+)$/, " and $1")

// Numbers as Python writes a list of floats, however deep.
export const listed = list => (Array.isArray(list) ? `[${list.map(listed).join(", ")}]` : Number.isInteger(list) ? list.toFixed(1) : String(list))
