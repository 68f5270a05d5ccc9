// Clock hands: a shift by k turns every hand of a position by k·ω, wherever it starts; so a score of
// two positions depends on their distance alone. With the sine code, and with rotary positions.

import { h } from "./frame.js"
import { expand, tensor } from "./tensor.js"
import { shown } from "./views.js"

const WIDTH = 8, PAIRS = WIDTH / 2, FARTHEST = 50, LONGEST = 20, ROWS = FARTHEST + LONGEST + 1
// The query is about three positions behind the key, so that it looks three back.
const KEY = [1, 0, 1, 0, 1, 0, 1, 0], QUERY = [-0.99, -0.14, 0.96, -0.28, 1, 0, 1, 0]

// Keys and queries at all positions, and how far the hands have turned; the same for every state.
const known = {}
function tables(code, graphs) {
  if (code === "sine") {
    const { outputs: [rows], values } = graphs.sinusoidal.run({ seq_len: ROWS, start: 0 })
    return { keys: rows, queries: rows, angles: values.angles[0] }
  }
  const positions = tensor(Array.from({ length: ROWS }, (_, i) => i), "int64")
  const [keys, queries] = [KEY, QUERY].map(x => graphs.rotary_pairs.run({ x: expand(tensor(x), [1, 1, ROWS, WIDTH]), positions }))
  const rows = ({ outputs: [x] }) => x.view([ROWS, WIDTH], [WIDTH, 1])
  return { keys: rows(keys), queries: rows(queries), angles: keys.values.angles[0] }
}

function compute({ code, p, k }, graphs) {
  const { keys, queries, angles } = known[code] ??= tables(code, graphs)
  const row = (x, i, width) => x.view([width], [1], x.offset + i * width)
  const [products, scores] = graphs.products.run({
    queries: queries.view([LONGEST + 1, WIDTH], [WIDTH, 1], queries.offset + p * WIDTH), key: row(keys, p, WIDTH),
  }).outputs
  return { keys, queries, products, scores, omega: row(angles, 1, PAIRS), turns: row(angles, k, PAIRS) }
}

// Drawing: all of it once, and then only what moves.

// Where a hand points, to the right and down. A sine goes to the right and its cosine up; a turned
// pair begins with what goes up. So all hands turn as those of a clock do.
const tip = (code, [a, b]) => (code === "sine" ? [a, -b] : [b, -a])
const at = ([x, y], length = 1) => `${(x * length).toFixed(3)} ${(y * length).toFixed(3)}`
const angle = x => String(Number(x.toFixed(3)))
const hand = point => `M0 0L${at(point)}`
function wedge(from, to, turn) {
  const rest = turn % (2 * Math.PI)
  return `M0 0L${at(from, 0.6)}A0.6 0.6 0 ${rest > Math.PI ? 1 : 0} 1 ${at(to, 0.6)}Z`
}

// The curve: a pair adds 1 to a score at most.
const CHART = { left: 20, top: 8, right: 308, bottom: 108 }
const across = k => CHART.left + (CHART.right - CHART.left) * k / LONGEST
const down = score => CHART.top + (CHART.bottom - CHART.top) * (PAIRS - score) / PAIRS

// The table: a row of cells for each position.
const CELL = { width: 10, height: 4, left: 28, gap: 12, scale: 1.25 }
const MAP = WIDTH * CELL.width, SHADES = 20

const drawn = new WeakMap()
function draw(view, words) {
  const pairs = Array.from({ length: PAIRS }, (_, i) => i), dials = pairs.map(() => ({
    wedge: h("path", { class: "wedge" }), before: h("path", { class: "before" }), here: h("path", { class: "here" }), there: h("path", { class: "there" }),
  }))
  const numbers = Object.fromEntries(["omega", "turns", "products"].map(name => [name, pairs.map(() => h("td"))]))
  const parts = { dials, numbers, score: h("td", { class: "total", colspan: PAIRS }), caption: h("caption"), label: h("caption") }
  const row = (label, cells) => h("tr", {}, h("th", { scope: "row" }, label), cells)
  const table = h("table", { class: "numbers" }, parts.caption,
    h("thead", {}, h("tr", {}, h("td"), pairs.map(i => h("th", { scope: "col" }, words.pair(i))))),
    h("tbody", {},
      h("tr", { "aria-hidden": "true" }, h("td"), dials.map(dial => h("td", { class: "dial" }, h("svg", { viewBox: "-1.05 -1.05 2.1 2.1" }, h("circle", { r: 1 }), Object.values(dial))))),
      Object.entries(numbers).map(([name, cells]) => row(words[name], cells)), row(words.total, [parts.score])))

  const text = (x, y, label, given) => h("text", { x, y, ...given }, label)
  parts.curve = h("polyline", {})
  parts.dot = h("circle", { r: 4.5 })
  parts.drop = h("path", { class: "drop" })
  const chart = h("svg", { class: "curve", viewBox: "0 0 320 140", "aria-hidden": "true" },
    h("path", { class: "axis", d: `M${CHART.left} ${CHART.top}V${CHART.bottom}M${CHART.left} ${down(0)}H${CHART.right}` }),
    [0, 2, PAIRS].map(score => text(CHART.left - 6, down(score) + 4, shown(score, 0), { "text-anchor": "end" })),
    [0, 5, 10, 15, 20].map(k => text(across(k), CHART.bottom + 14, k, { "text-anchor": "middle" })),
    text((CHART.left + CHART.right) / 2, CHART.bottom + 29, words.distance, { "text-anchor": "middle" }),
    parts.drop, parts.curve, parts.dot)
  parts.curveLabel = h("p")

  parts.maps = {}
  parts.map = h("svg", { class: "map", "aria-hidden": "true" })
  const around = kind => ["here", "there"].map(name => h("rect", { class: `${kind} ${name}`, width: MAP + 2, height: CELL.height + 2 }))
  parts.rims = around("rim")
  parts.frames = around("frame")
  parts.labels = ["here", "there"].map(name => text(0, 0, "", { class: name, "text-anchor": name === "here" ? "end" : "start" }))
  parts.mapLabel = h("p")
  view.replaceChildren(
    h("div", { class: "clocks" }, table, parts.curveLabel, chart),
    h("div", { class: "positions" }, parts.mapLabel, parts.map))
  drawn.set(view, parts)
  return parts
}

// The cells of a table, blue above zero and orange below: one path for all cells of a shade.
function cells(table, left) {
  const paths = {}
  table.list().forEach((row, i) => row.forEach((x, j) => {
    const shade = Math.round(x * SHADES)
    paths[shade] = `${paths[shade] ?? ""}M${left + j * CELL.width} ${i * CELL.height + 1}h${CELL.width}v${CELL.height}h-${CELL.width}z`
  }))
  return h("g", {}, Object.entries(paths).map(([shade, d]) => h("path", { d, class: shade < 0 ? "below" : "above", "fill-opacity": Math.abs(shade) / SHADES })))
}

function render(view, result, { code, p, k }, words) {
  const parts = drawn.get(view) ?? draw(view, words), row = (x, i) => x.view([WIDTH], [1], x.offset + i * WIDTH).list()
  const pair = (x, i) => tip(code, [x[2 * i], x[2 * i + 1]])
  const here = row(result.keys, p), before = row(result.queries, p), there = row(result.queries, p + k)
  const scores = result.scores.list(), turns = result.turns.list(), products = result.products.list()[k], omega = result.omega.list()
  parts.dials.forEach((dial, i) => {
    dial.here.setAttribute("d", hand(pair(here, i)))
    dial.before.setAttribute("d", hand(pair(before, i)))
    dial.there.setAttribute("d", hand(pair(there, i)))
    dial.wedge.setAttribute("d", wedge(pair(before, i), pair(there, i), turns[i]))
    parts.numbers.omega[i].textContent = angle(omega[i])
    parts.numbers.turns[i].textContent = angle(turns[i])
    parts.numbers.products[i].textContent = shown(products[i], 3)
  })
  parts.score.textContent = shown(scores[k], 3)
  parts.caption.textContent = words[`hands.${code}`]
  parts.curveLabel.textContent = words[`curve.${code}`](p)
  parts.curve.setAttribute("points", scores.map((score, i) => `${across(i).toFixed(1)},${down(score).toFixed(2)}`).join(" "))
  parts.dot.setAttribute("cx", across(k).toFixed(1))
  parts.dot.setAttribute("cy", down(scores[k]).toFixed(2))
  parts.drop.setAttribute("d", `M${across(k).toFixed(1)} ${CHART.top}V${CHART.bottom}`)
  const maps = code === "sine" ? 1 : 2, right = CELL.left + (maps - 1) * (MAP + CELL.gap)
  if (parts.code !== code) {
    parts.code = code
    parts.maps[code] ??= [cells(result.keys, CELL.left), maps > 1 ? cells(result.queries, right) : null].filter(Boolean)
    parts.mapLabel.textContent = words[`map.${code}`]
    const width = right + MAP + CELL.left
    parts.map.setAttribute("viewBox", `0 -3 ${width} ${ROWS * CELL.height + 5}`)
    parts.map.setAttribute("width", width * CELL.scale)
    parts.map.replaceChildren(...parts.maps[code], ...parts.rims, ...parts.frames, ...parts.labels)
  }
  [[p, CELL.left], [p + k, right]].forEach(([position, left], i) => {
    for (const around of [parts.rims[i], parts.frames[i]]) {
      around.setAttribute("x", left - 1)
      around.setAttribute("y", position * CELL.height)
    }
    parts.labels[i].setAttribute("x", i ? left + MAP + 5 : left - 5)
    parts.labels[i].setAttribute("y", position * CELL.height + 7)
    parts.labels[i].textContent = position
  })
}

function says(result, { code, p, k }, words) {
  const scores = result.scores.list(), turns = result.turns.list().map(angle).join(words.comma)
  return words[`says.${code}`]({ p, there: p + k, k, turns, score: shown(scores[k], 3), best: scores.indexOf(Math.max(...scores)) })
}

function python({ code, p, k }) {
  const list = x => x.join(", ").replace(/^-?\d+(?=,)/, "$&.0")
  return [
    "import torch",
    "",
    ...(code === "sine" ? ["from headwise.positional import frequencies, sinusoidal"] : ["from headwise.positional import frequencies", "from headwise.rotary import Rotary"]),
    "",
    `p, k = ${p}, ${k}`,
    ...(code === "sine" ? [`keys = queries = sinusoidal(${ROWS}, ${WIDTH})  # a row for each position`] : [
      `key = torch.tensor([${list(KEY)}])`,
      `query = torch.tensor([${list(QUERY)}])`,
      `turn, positions = Rotary(${WIDTH}, layout="pairs"), torch.arange(${ROWS})`,
      `keys, queries = (turn(x.expand(1, 1, ${ROWS}, ${WIDTH}), positions)[0, 0] for x in (key, query))`]),
    `omega = frequencies(${WIDTH})  # (${PAIRS},)`,
    "turns = k * omega",
    `products = (queries[p : p + ${LONGEST + 1}] * keys[p]).unflatten(-1, (${PAIRS}, 2)).sum(dim=-1)`,
    `scores = queries[p : p + ${LONGEST + 1}] @ keys[p]  # (${LONGEST + 1},)`,
    "print(turns)",
    "print(products[k], scores[k])",
  ].join("\n")
}

export default {
  graphs: ["sinusoidal", "rotary_pairs", "products"],
  controls: {
    code: { kind: "choice", options: ["sine", "rotary"], value: "sine" },
    p: { kind: "range", min: 0, max: FARTHEST, value: 7 },
    k: { kind: "range", min: 0, max: LONGEST, value: 3 },
  },
  compute, render, says, python,
  words: {
    zh: {
      title: "表针",
      code: "位置怎么记", "code.sine": "正弦编码", "code.rotary": "旋转位置（RoPE）", p: "位置 p", k: "平移 k",
      pair: i => `${i} 号对`, omega: "ω", turns: "转过 k·ω", products: "乘积", total: "分数（总和）", distance: "距离 k", comma: "、",
      "hands.sine": "细针在 p，粗针在 p + k，扇形是转过的角", "hands.rotary": "细针是 p 处的键，粗针是 p + k 处的查询，虚线是 p 处的查询",
      "curve.sine": p => `PE(${p}) · PE(${p} + k)：换一个 p，曲线不变`, "curve.rotary": p => `键在 ${p}、查询在 ${p} + k 的分数：换一个 p，曲线不变`,
      "map.sine": "编码的表，框出 p 和 p + k 两行", "map.rotary": "各个位置的键（左）和查询（右）",
      "says.sine": ({ p, there, turns, score }) => `从位置 ${p} 到 ${there}，四根针分别转过 ${turns} 弧度，从哪里出发都一样。两行的点积是 ${score}。`,
      "says.rotary": ({ p, there, k, score, best }) => `键转到位置 ${p}，查询转到 ${there}，分数是 ${score}；只要相距 ${k}，在哪里都一样。相距 ${best} 时分数最高。`,
    },
    en: {
      title: "Clock hands",
      code: "Positions as", "code.sine": "sine code", "code.rotary": "rotary (RoPE)", p: "Position p", k: "Shift k",
      pair: i => `pair ${i}`, omega: "ω", turns: "turn k·ω", products: "product", total: "score (sum)", distance: "distance k", comma: ", ",
      "hands.sine": "Thin hand: position p. Thick hand: p + k. The wedge is the turn.", "hands.rotary": "Thin hand: the key at p. Thick hand: the query at p + k. Dashed: the query at p.",
      "curve.sine": p => `PE(${p}) · PE(${p} + k): the same curve for every p`, "curve.rotary": p => `Score of the query at ${p} + k for the key at ${p}: the same curve for every p`,
      "map.sine": "The table of the code, rows p and p + k", "map.rotary": "The key (left) and the query, turned",
      "says.sine": ({ p, there, turns, score }) => `From position ${p} to ${there} the four hands turn by ${turns} radians, and they'd do so from anywhere. The dot product of the two rows is ${score}.`,
      "says.rotary": ({ p, there, k, score, best }) => `The key is turned to position ${p} and the query to ${there}. Their score is ${score}, and so it is anywhere else at distance ${k}. It's highest at distance ${best}.`,
    },
  },
}
