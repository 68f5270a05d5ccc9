// √d_k: how far dot products spread as vectors get wider, what softmax and its gradient make of
// that, and what dividing by √d_k changes.

import { h } from "./frame.js"
import { Tensor, expand } from "./tensor.js"
import { shown } from "./views.js"

const QUERIES = 32, KEYS = 8, WIDEST = 1024
const BINS = 65, WIDTH = 4, REACH = BINS * WIDTH / 2, FLOOR = 60, HIGHEST = 56, TICK = 6

// Numbers as good as drawn from a normal distribution, which the Python block makes too.
function uniform(i) {
  const x = 43758.5453 * Math.sin(12.9898 * i)
  return x - Math.floor(x)
}
const normal = i => Math.sqrt(-2 * Math.log(uniform(i))) * Math.cos(2 * Math.PI * uniform(i + 1))
let numbers
function vectors(first, count, width) {
  numbers ??= Float64Array.from({ length: (QUERIES + KEYS) * WIDEST }, (_, i) => normal(2 + 2 * i))
  return expand(new Tensor(numbers, [count, width], "float64", [WIDEST, 1], first * WIDEST), [1, 1, count, width])
}

// Narrower vectors are the beginnings of wider ones, and each width is computed once.
const known = new Map()
function compute({ power }, graphs) {
  if (!known.has(power)) known.set(power, computed(2 ** power, graphs))
  return known.get(power)
}

function computed(d_k, graphs) {
  const Q = vectors(0, QUERIES, d_k), K = vectors(QUERIES, KEYS, d_k)
  const table = x => x.view([QUERIES, KEYS], [KEYS, 1])
  const [plain, scaled] = ["attention_unscaled", "attention"].map(name => {
    const { values } = graphs[name].run({ Q, K, V: K }), scores = table(values.scores[0]), weights = table(values.weights[0])
    const [spread] = graphs.spread.run({ scores }).outputs, [gradient] = graphs.softmax_gradient.run({ weights }).outputs
    return { scores, weights, spread, gradient, root: values.sym_sqrt[0] }
  })
  return {
    dots: plain.scores, dot_weights: plain.weights, dot_spread: plain.spread, dot_gradient: plain.gradient,
    scores: scaled.scores, weights: scaled.weights, spread: scaled.spread, gradient: scaled.gradient,
    d_k, root: scaled.root, cards: [plain, scaled].map(listed),
  }
}

// As lists and numbers, with the histogram of all scores.
function listed({ scores, weights, spread, gradient }) {
  const rows = scores.list(), counts = new Array(BINS).fill(0)
  for (const score of rows.flat()) counts[Math.floor(place(score) / WIDTH)]++
  const most = Math.max(...counts), steps = counts.map((count, i) => `V${(FLOOR - HIGHEST * count / most).toFixed(2)}H${WIDTH * (i + 1)}`)
  return { scores: rows, weights: weights.list(), spread: spread.list(), gradient: gradient.list(), hill: `M0 ${FLOOR}${steps.join("")}V${FLOOR}Z` }
}
const place = score => score + REACH  // none reaches further

// All is drawn once; then only numbers and lengths change.
const drawn = new WeakMap()
function draw(view, words) {
  const cards = ["plain", "scaled"].map(kind => {
    const part = {
      hill: h("path", {}), ticks: h("path", { class: "ticks", "vector-effect": "non-scaling-stroke" }), spread: h("b"), gradient: h("td", { class: "bar" }),
      rows: Array.from({ length: KEYS }, () => [h("td"), h("td", { class: "bar" })]), caption: h("caption"),
    }
    const row = (label, cells) => h("tr", {}, h("th", { scope: "row", colspan: 3 - cells.length }, label), cells)
    const root = h("div", { class: `card ${kind}` },
      h("p", {}, h("b", {}, words[`card.${kind}`])),
      h("svg", { class: "hill", viewBox: `0 0 ${2 * REACH} ${FLOOR + TICK + 4}`, preserveAspectRatio: "none", "aria-hidden": "true" }, part.hill, part.ticks),
      h("div", { class: "ends", "aria-hidden": "true" }, ["−128", "0", "128"].map(end => h("span", {}, end))),
      h("p", {}, words.spread, part.spread),
      h("table", { class: "numbers" }, part.caption,
        h("thead", {}, h("tr", {}, [words.key, words.score, words.weight].map(label => h("th", { scope: "col" }, label)))),
        h("tbody", {}, part.rows.map((cells, j) => row(j + 1, cells))),
        h("tfoot", {}, row(words.gradient, [part.gradient]))))
    return { ...part, root }
  })
  view.replaceChildren(...cards.map(({ root }) => root), h("p", { class: "whole note" }, words.note))
  drawn.set(view, cards)
  return cards
}

function bar(cell, number, most) {
  cell.textContent = shown(number)
  cell.style.setProperty("--share", number / most)
}

function render(view, result, { query }, words) {
  const cards = drawn.get(view) ?? draw(view, words)
  cards.forEach((part, i) => {
    const { hill, scores, weights, spread, gradient } = result.cards[i], mine = scores[query - 1], shares = weights[query - 1]
    part.hill.setAttribute("d", hill)
    part.ticks.setAttribute("d", mine.map(score => `M${place(score).toFixed(2)} ${FLOOR + 2}v${TICK}`).join(""))
    part.spread.textContent = shown(spread, 1)
    part.caption.textContent = words.caption(query)
    part.rows.forEach(([score, weight], j) => {
      score.textContent = shown(mine[j], 1)
      bar(weight, shares[j], 1)
    })
    bar(part.gradient, gradient, 0.5)  // no more is possible: it is what two keys have that share all
  })
}

function says({ d_k, root, cards }, { query }, words) {
  const [plain, scaled] = cards.map(({ spread, weights, gradient }) => ({
    spread: shown(spread, 1), gradient: shown(gradient), largest: shown(Math.max(...weights[query - 1])),
  }))
  return words.says({ d_k, root: shown(root, 1), query, plain, scaled })
}

function python({ power, query }) {
  return [
    "import torch",
    "",
    "from headwise.attention import attention",
    "",
    "",
    "def uniform(i):  # from 0 to 1, and as good as drawn",
    "    return 43758.5453 * torch.sin(12.9898 * i) % 1",
    "",
    "",
    "def gradient_of_softmax(scores):  # the norm of its Jacobian, mean over the queries",
    "    jacobian = torch.func.vmap(torch.func.jacrev(lambda row: torch.softmax(row, dim=-1)))",
    "    return jacobian(scores).flatten(1).norm(dim=-1).mean()",
    "",
    "",
    `i = 2 + 2 * torch.arange(${(QUERIES + KEYS) * WIDEST}, dtype=torch.float64)`,
    "normal = torch.sqrt(-2 * torch.log(uniform(i))) * torch.cos(2 * torch.pi * uniform(i + 1))",
    `d_k = ${2 ** power}`,
    `Q, K = normal.view(${QUERIES + KEYS}, ${WIDEST})[:, :d_k].split([${QUERIES}, ${KEYS}])`,
    "",
    `dots = Q @ K.T  # (${QUERIES}, ${KEYS})`,
    "dot_weights = torch.softmax(dots, dim=-1)",
    "dot_spread, dot_gradient = dots.std(), gradient_of_softmax(dots)",
    "print(f\"q · k         std {dot_spread:4.1f}  gradient {dot_gradient:.2f}\")",
    `print(dot_weights[${query - 1}])`,
    "",
    `scores = dots / d_k**0.5  # (${QUERIES}, ${KEYS})`,
    "_, weights = attention(Q, K, K)",
    "spread, gradient = scores.std(), gradient_of_softmax(scores)",
    "print(f\"q · k / √d_k  std {spread:4.1f}  gradient {gradient:.2f}\")",
    `print(weights[${query - 1}])`,
  ].join("\n")
}

const powers = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`power.${i}`, String(2 ** i)]))

export default {
  graphs: ["attention_unscaled", "attention", "spread", "softmax_gradient"],
  controls: {
    power: { kind: "range", min: 0, max: 10, value: 6 },
    query: { kind: "range", min: 1, max: QUERIES, value: 1 },
  },
  compute, render, says, python,
  words: {
    zh: {
      ...powers,
      title: "除以 √d_k，还是不除",
      power: "宽度 d_k", query: "看第几个查询",
      "card.plain": "q · k，不除", "card.scaled": "q · k / √d_k",
      spread: "标准差 ", key: "键", score: "分数", weight: "权重", gradient: "梯度", caption: query => `第 ${query} 个查询`,
      note: `上面的小山：32 个查询对 8 个键的全部分数；山脚的短线：这个查询的 8 个分数。梯度：分数变一点，权重跟着变多少（softmax 的雅可比矩阵的范数，对 32 个查询求平均）。`,
      says: ({ d_k, root, query, plain, scaled }) => `d_k = ${d_k}：点积的标准差是 ${plain.spread}（√d_k 是 ${root}），第 ${query} 个查询最大的权重是 ${plain.largest}，梯度平均剩下 ${plain.gradient}。`
        + `除以 √d_k 之后，标准差是 ${scaled.spread}，最大的权重是 ${scaled.largest}，梯度是 ${scaled.gradient}。`,
    },
    en: {
      ...powers,
      title: "To divide by √d_k or not",
      power: "Width d_k", query: "Show query",
      "card.plain": "q · k, not divided", "card.scaled": "q · k / √d_k",
      spread: "Spread (std) ", key: "key", score: "score", weight: "weight", gradient: "gradient", caption: query => `Query ${query}`,
      note: "The hill is made of all scores, of 32 queries and 8 keys; the ticks below it are this query's own. Gradient: how much the weights move when the scores do (the norm of softmax's Jacobian, mean over the queries).",
      says: ({ d_k, root, query, plain, scaled }) => `With d_k = ${d_k}, dot products spread by ${plain.spread} (√d_k is ${root}). The largest weight of query ${query} is ${plain.largest}, and the gradient that's left is ${plain.gradient}. `
        + `Divided by √d_k, they spread by ${scaled.spread}; the largest weight is ${scaled.largest}, the gradient ${scaled.gradient}.`,
    },
  },
}
