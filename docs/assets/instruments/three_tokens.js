// Three tokens, editable: attention by hand, step by step, where every number shows what it is made of.

import { h } from "./frame.js"
import { tensor } from "./tensor.js"
import { inWords, listed, shown } from "./views.js"

const TOKENS = ["cat", "sat", "mat"], MOST = 9
const STEPS = ["Q", "K", "dots", "scores", "powers", "weights", "V", "out"]
const RESULTS = ["Q", "K", "V", "dots", "scores", "powers", "total", "weights", "out"]
const WIDTHS = { Q: 4, K: 4, V: 2, dots: 3, scores: 3, powers: 3, total: 1, weights: 3, out: 2 }
const LINES = {
  X: "X", W_q: "W_q", W_k: "W_k", W_v: "W_v", Q: "Q = X @ W_q", K: "K = X @ W_k", V: "V = X @ W_v", dots: "dots = Q @ K.T", scores: "scores = dots / 4**0.5",
  powers: "powers = scores.exp()", total: "total", weights: "weights = powers / total", out: "out = weights @ V",
}
const AFTER = ["dots", "scores", "powers", "weights", "out"]
const PROJECTIONS = { Q: "W_q", K: "W_k", V: "W_v" }
// What a step shows where there is no room for everything.
const NEEDS = {
  Q: ["X", "W_q", "Q"], K: ["X", "W_k", "K"], V: ["X", "W_v", "V"], dots: ["Q", "K", "dots"], scores: ["dots", "scores"],
  powers: ["scores", "powers"], weights: ["powers", "weights"], out: ["V", "weights", "out"],
}
const stepOf = name => STEPS.indexOf(name === "total" ? "powers" : name)
const place = cell => { const [name, i, j] = cell.split("."); return [name, Number(i), Number(j)] }
const range = n => [...Array(n).keys()]

function compute(state, graphs) {
  const given = Object.fromEntries(["X", "W_q", "W_k", "W_v"].map(name => [name, tensor(state[name])]))
  const { outputs } = graphs.by_hand.run(given)
  return Object.fromEntries(RESULTS.map((name, i) => [name, outputs[i]]))
}

// A cell is of a table that has been computed by now.
function fix(state) {
  const late = stepOf(place(state.cell)[0]) > STEPS.indexOf(state.step)
  return late ? { ...state, cell: `${state.step}.0.0` } : state
}

const number = x => (Number.isInteger(x) && Math.abs(x) < 1e4 ? String(x).replace("-", "−") : shown(x, 3))

// Cells that a cell comes from: those of the row, and those of the column, in the order of the sum.
function sources([name, i, j]) {
  const line = (from, n, at) => range(n).map(k => [from, ...at(k)])
  if (name in PROJECTIONS) return [line("X", 4, k => [i, k]), line(PROJECTIONS[name], 4, k => [k, j])]
  if (name === "dots") return [line("Q", 4, k => [i, k]), line("K", 4, k => [j, k])]
  if (name === "scores") return [[["dots", i, j]], []]
  if (name === "powers") return [[["scores", i, j]], []]
  if (name === "total") return [line("powers", 3, k => [i, k]), []]
  if (name === "weights") return [[["powers", i, j]], [["total", i, 0]]]
  return [line("weights", 3, k => [i, k]), line("V", 3, k => [k, j])]
}

// Where powers overflow, or all of them vanish, only softmax as libraries write it has the weights.
const isLost = (tables, i) => !(tables.total[i][0] > 0 && tables.total[i][0] < Infinity)

// What a cell is made of, as pieces of text: [class, text].
function terms(cell, tables) {
  const [name, i, j] = cell, read = ([from, k, l]) => tables[from][k][l]
  const told = x => (x < 0 ? `(${number(x)})` : number(x))
  const [row, column] = sources(cell).map(cells => cells.map(read)), join = (parts, sign) => parts.flatMap((part, k) => (k ? [["", sign], ...part] : part))
  if (name === "scores") return [["row", number(row[0])], ["", " / √4"]]
  if (name === "powers") return [["", "exp("], ["row", number(row[0])], ["", ")"]]
  if (name === "total") return join(row.map(x => [["row", number(x)]]), " + ")
  if (name === "weights" && isLost(tables, i)) {
    const scores = tables.scores[i], less = x => `exp(${number(x)} − ${told(Math.max(...scores))})`
    return [["", `${less(scores[j])} / (${scores.map(less).join(" + ")})`]]
  }
  if (name === "weights") return [["row", number(row[0])], ["", " / "], ["column", number(column[0])]]
  return join(row.map((x, k) => [["row", told(x)], ["", " × "], ["column", told(column[k])]]), " + ")
}

// All that is seen, built once; what comes back shows another result in it.
function build(view, words, set) {
  let now, tables, marked = []
  const message = h("p", { class: "message", role: "alert", hidden: true })
  const warn = text => { message.textContent = text; message.hidden = !text }

  const point = cell => { if (now.cell !== cell) set({ cell }) }
  const value = (name, i, j) => h("button", {
    type: "button", name: "three_tokens-cell", onclick: () => point(`${name}.${i}.${j}`), onfocus: () => point(`${name}.${i}.${j}`),
    onpointerenter: event => { if (event.pointerType === "mouse") point(`${name}.${i}.${j}`) },
  })
  const meant = text => { const plain = text.normalize("NFKC").replace("−", "-").trim(); return plain === "" ? NaN : Number(plain) }
  const enter = (name, i, j, x) => { if (!Number.isNaN(x)) set({ [name]: now[name].map((row, k) => row.map((old, l) => (k === i && l === j ? x : old))) }) }
  const input = (name, i, j) => h("input", {
    // No inputmode: the number pad of a phone may have no minus sign.
    type: "text", autocomplete: "off", size: 3, name: `three_tokens-${name}`, "aria-label": `${name}[${i}, ${j}]`,
    onfocus: event => event.target.select(), oninput: event => enter(name, i, j, meant(event.target.value)),
    onchange: event => {
      const text = event.target.value, x = meant(text)
      enter(name, i, j, x)
      warn(Number.isNaN(x) ? words.letters(text) : Math.abs(x) > MOST ? words.limit(text) : "")
      event.target.value = now[name][i][j]
    },
  })

  // One stop of the tab key in each table; within it, the arrow keys move.
  const cells = {}, parts = {}
  const moved = name => event => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key], { target } = event
    const i = cells[name].findIndex(row => row.includes(target)), j = cells[name][i]?.indexOf(target), next = by && cells[name][i + by[0]]?.[j + by[1]]
    const isInside = by?.[1] && target.value && (by[1] < 0 ? target.selectionStart > 0 : target.selectionEnd < target.value.length)
    if (!by || isInside || by[1] && !next) return
    event.preventDefault()  // up and down would move the caret
    next?.focus()
  }
  const rove = name => ({ target }) => { for (const one of cells[name].flat()) one.tabIndex = one === target ? 0 : -1 }
  const part = (name, make, height, width) => {
    const columns = width + (name === "powers")
    cells[name] = range(height).map(i => range(width).map(j => make(name, i, j)))
    if (name === "powers") cells.total = range(height).map(i => [value("total", i, 0)])
    const rows = cells[name].map((row, i) => [...row, ...(name === "powers" ? cells.total[i] : [])])
    const around = { role: "grid", class: "numbers", onkeydown: moved(name), onfocusin: rove(name) }
    if (name === "powers") cells.powers = rows
    rows.flat().forEach((one, k) => { one.tabIndex = k ? -1 : 0 })
    const isLater = AFTER.includes(name)
    parts[name] = h("div", { class: `part ${name}` }, h("table", around, h("caption", {}, h("code", {}, LINES[name])),
      isLater ? h("thead", {}, h("tr", {}, h("td", {}), range(columns).map(k => (name === "out" ? h("td", {}) : h("th", { scope: "col" }, TOKENS[k] ?? LINES.total))))) : null,
      h("tbody", {}, rows.map((row, i) => h("tr", {}, name[0] === "W" ? null : h("th", { scope: "row" }, TOKENS[i]), row.map(one => h("td", {}, one)))))))
    return parts[name]
  }
  const projections = Object.entries(PROJECTIONS).map(([name, W]) => [part(W, input, 4, WIDTHS[name]), part(name, value, 3, WIDTHS[name])])
  const first = h("div", { class: "first" }, part("X", input, 3, 4), projections)
  const second = h("div", { class: "second" }, AFTER.map(name => part(name, value, 3, WIDTHS[name])))

  const go = (label, by) => h("button", { type: "button", name: "three_tokens-step", onclick: () => {
    const step = STEPS[by(STEPS.indexOf(now.step))]
    set({ step, cell: `${step}.0.0` })
  } }, label)
  const back = go(words.back, i => Math.max(i - 1, 0)), next = go(words.next, i => (i + 1) % STEPS.length), all = go(words.all, () => STEPS.length - 1)
  const count = h("span", { class: "count" }), sum = h("p", { class: "made" })
  const whole = h("div", { class: "whole tokens" }, h("div", { class: "keys" }, back, next, all, count), sum, first, second, message)
  view.replaceChildren(whole)

  return (result, state) => {
    const at = STEPS.indexOf(state.step), cell = place(state.cell)
    now = state
    tables = { ...state, ...Object.fromEntries(RESULTS.map(name => [name, result[name].list()])) }
    for (const name of RESULTS) tables[name].forEach((row, i) => row.forEach((x, j) => {
      const one = cells[name][i][j], text = number(x)
      if (one.textContent !== text) one.textContent = text
      if (name === "weights") one.parentElement.style.setProperty("--heat", x.toFixed(3))
    }))
    for (const name of ["X", ...Object.values(PROJECTIONS)]) cells[name].forEach((row, i) => row.forEach((one, j) => {
      if (one !== document.activeElement) one.value = state[name][i][j]
    }))
    for (const [name, one] of Object.entries(parts)) {
      one.classList.toggle("later", stepOf(name) > at)
      one.classList.toggle("aside", !NEEDS[state.step].includes(name))
      one.classList.toggle("now", name === state.step)
    }
    first.classList.toggle("projects", state.step in PROJECTIONS)
    back.disabled = at === 0
    all.disabled = at === STEPS.length - 1
    next.textContent = all.disabled ? words.again : words.next
    count.textContent = words.count(at + 1, STEPS.length)

    for (const one of marked) one.classList.remove("row", "column", "chosen")
    const find = ([name, i, j]) => cells[name][i][j].parentElement
    const [row, column] = sources(cell).map(list => list.map(find)), chosen = find(cell)
    row.forEach(one => one.classList.add("row"))
    column.forEach(one => one.classList.add("column"))
    chosen.classList.add("chosen")
    marked = [...row, ...column, chosen]
    const [name, i, j] = cell
    sum.replaceChildren(h("code", {}, `${name}[${i}, ${j}]`), " = ", ...terms(cell, tables).map(([kind, text]) => (kind ? h("b", { class: kind }, text) : text)), ` = ${number(tables[name][i][j])}`)
  }
}

const built = new WeakMap()
function render(view, result, state, words, set) {
  if (!built.has(view)) built.set(view, build(view, words, set))
  built.get(view)(result, state)
}

function says(result, state, words) {
  const [name, i, j] = place(state.cell), tables = { total: result.total.list() }
  const told = words.says[name]({ token: TOKENS[i], other: TOKENS[j], W: PROJECTIONS[name], j })
  const lost = range(TOKENS.length).filter(k => STEPS.indexOf(state.step) >= stepOf("powers") && isLost(tables, k))
  return `${name}[${i}, ${j}] = ${number(result[name].list()[i][j])}${words.colon}${told}${lost.length ? words.lost(lost.map(k => TOKENS[k])) : ""}`
}

function python(state) {
  const given = (name, columns) => `${name} = torch.tensor(${listed(state[name])})  # (${state[name].length}, ${columns})`
  return [
    "import torch", "", "from headwise.attention import attention", "",
    given("X", 4), given("W_q", 4), given("W_k", 4), given("W_v", 2),
    "",
    `${LINES.Q}  # (3, 4)`, `${LINES.K}  # (3, 4)`, `${LINES.V}  # (3, 2)`, `${LINES.dots}  # (3, 3)`, LINES.scores, LINES.powers,
    "total = powers.sum(dim=-1, keepdim=True)  # (3, 1)",
    "out, weights = attention(Q, K, V)  # the weights are powers / total",
    "print(weights)", "print(out)",
  ].join("\n")
}

const table = value => ({ kind: "table", min: -MOST, max: MOST, step: 0.01, value, inside: true })
const diagonal = (x, width = 4) => range(4).map(i => range(width).map(j => (i === j ? x : 0)))
const choice = options => ({ kind: "choice", options, value: options[0], inside: true })

export default {
  graphs: ["by_hand"],
  controls: {
    step: choice(STEPS),
    cell: choice(RESULTS.flatMap(name => TOKENS.flatMap((_, i) => range(WIDTHS[name]).map(j => `${name}.${i}.${j}`)))),
    X: table([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]]),
    W_q: table(diagonal(2)), W_k: table(diagonal(1)), W_v: table(diagonal(1, 2)),
  },
  fix, compute, render, says, python,
  words: {
    zh: {
      title: "手算三个词元",
      step: "步骤", cell: "选中的数", X: "X", W_q: "W_q", W_k: "W_k", W_v: "W_v",
      back: "上一步", next: "下一步", again: "从头再来", all: "全部", count: (step, steps) => `第 ${step} 步，共 ${steps} 步`, colon: "。",
      letters: text => `“${text}”不是数，所以这一格没有变。`, limit: text => `这里的数最大是 ${MOST}，最小是 −${MOST}，所以“${text}”改成了最接近的数。`,
      says: {
        Q: ({ token, W }) => `${token} 的查询：X 里 ${token} 那一行与 ${W} 的这一列，对应的数相乘，再加起来。`,
        K: ({ token, W }) => `${token} 的键：X 里 ${token} 那一行与 ${W} 的这一列，对应的数相乘，再加起来。`,
        V: ({ token, W }) => `${token} 的值：X 里 ${token} 那一行与 ${W} 的这一列，对应的数相乘，再加起来。`,
        dots: ({ token, other }) => `${token} 的查询与 ${other} 的键有多合拍：它们的点积。`,
        scores: () => "点积除以 √d_k，这里 d_k = 4，就是除以 2。",
        powers: () => "以 e 为底取指数：再小的分数，得到的也是正数。",
        total: ({ token }) => `${token} 那一行的指数加起来。`,
        weights: ({ token, other }) => `${token} 从 ${other} 的值里取多少：除以这一行的总和，所以每行加起来等于 1。`,
        out: ({ token }) => `${token} 的新向量：所有值的同一列，按 ${token} 的权重平均。`,
      },
      lost: tokens => `${tokens.join("、")} 的分数太大或太小，取指数以后 float32 装不下了。所以 softmax 先让一行里的每个分数都减去最大的那个：权重不变，也不会溢出。`,
    },
    en: {
      title: "Three tokens by hand",
      step: "Step", cell: "Number", X: "X", W_q: "W_q", W_k: "W_k", W_v: "W_v",
      back: "Back", next: "Next step", again: "Start again", all: "Show all", count: (step, steps) => `Step ${step} of ${steps}`, colon: ". ",
      letters: text => `“${text}” isn't a number, so the cell stays as it was.`, limit: text => `Numbers here go from −${MOST} to ${MOST}, so “${text}” became the nearest of them.`,
      says: {
        Q: ({ token, W }) => `The query of ${token}: its row of X times this column of ${W}, number by number, added up.`,
        K: ({ token, W }) => `The key of ${token}: its row of X times this column of ${W}, number by number, added up.`,
        V: ({ token, W }) => `The value of ${token}: its row of X times this column of ${W}, number by number, added up.`,
        dots: ({ token, other }) => `How well the query of ${token} matches the key of ${other}: their dot product.`,
        scores: () => "The dot product divided by √d_k: here d_k is 4, so divide by 2.",
        powers: () => "e to the power of the score: positive, however low the score is.",
        total: ({ token }) => `The sum of the powers in the row of ${token}.`,
        weights: ({ token, other }) => `How much ${token} takes of the value of ${other}. Each is divided by the total of its row, so a row sums to 1.`,
        out: ({ token }) => `The new vector of ${token}: this column of all values, averaged under the weights of ${token}.`,
      },
      lost: tokens => ` The scores of ${inWords(tokens)} are too large or too small for their powers to fit into float32. That's why softmax first subtracts the largest score of a row from all of them: the weights stay the same, and nothing overflows.`,
    },
  },
}
