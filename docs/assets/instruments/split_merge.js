// Split and merge: where each number goes when heads are split and merged, and what memory does.

import { h } from "./frame.js"
import { count, dense, tensor } from "./tensor.js"

const MOST = { seq_len: 6, num_heads: 4, d_k: 4 }
// Each line: its tensor, what that tensor's axes are, and its code, given the sizes of these axes.
// b is the batch, t the tokens, h the heads, j the numbers of a head, c all numbers of a token.
const LINES = {
  split: {
    start: ["x", "btc", (s, sizes) => `torch.arange(${all(s)}).view(${sizes})`],
    view: ["cut", "bthj", (_, sizes) => `x.view(${sizes})`],
    transpose: ["heads", "bhtj", () => "cut.transpose(1, 2)"],
    contiguous: ["copy", "bhtj", () => "heads.contiguous()"],
    reshape: ["wrong", "bhtj", (_, sizes) => `x.reshape(${sizes})`],
  },
  merge: {
    start: ["out", "bhtj", (s, sizes) => `torch.arange(${all(s)}).view(${sizes})`],
    transpose: ["turned", "bthj", () => "out.transpose(1, 2)"],
    contiguous: ["copy", "bthj", () => "turned.contiguous()"],
    view: ["merged", "btc", (_, sizes) => `copy.view(${sizes})`],
    reshape: ["wrong", "btc", (_, sizes) => `out.reshape(${sizes})`],
  },
}
const shape = ({ seq_len, num_heads, d_k }, axes) => [...axes].map(axis => ({ b: 1, t: seq_len, h: num_heads, j: d_k, c: num_heads * d_k })[axis])
const all = state => count(shape(state, "bhtj"))

const contiguous = x => { const packed = x.packed(); return packed.data === x.data ? x : packed }

// Every line's tensor by its name, and what is looked at; numbers are places in memory, 0, 1, 2, …
function compute(state, graphs) {
  const tensors = run(state, graphs)
  return { ...tensors, seen: look(tensors, state) }
}

function run(state, graphs) {
  const { num_heads } = state, of = (name, given) => graphs[name].run(given)
  const numbers = tensor(Array.from({ length: all(state) }, (_, i) => i), "int64"), sizes = shape(state, LINES[state.way].start[1])
  const start = numbers.view(sizes, dense(sizes))
  if (state.way === "split") {
    const { outputs: [heads], values } = of("split_heads", { x: start, num_heads })
    return { x: start, cut: values.x[0], heads, copy: contiguous(heads), wrong: of("split_by_reshape", { x: start, num_heads }).outputs[0] }
  }
  const { outputs: [merged], values } = of("merge_heads", { x: start })
  return { out: start, turned: values.x[0], copy: contiguous(values.x[0]), merged, wrong: of("merge_without_transpose", { x: start }).outputs[0] }
}

// The entries of a tensor in the order of reading, and where each number is among them.
function read(x) {
  const flat = [...x.flat()], place = []
  flat.forEach((number, k) => { place[number] = k })
  return { flat, place }
}
const index = (k, sizes) => dense(sizes).map((step, axis) => Math.floor(k / step) % sizes[axis])
// What an entry is by its index: its token and its head.
function role(axes, at, state) {
  const of = axis => at[axes.indexOf(axis)]
  return { t: of("t"), h: axes.includes("c") ? Math.floor(of("c") / state.d_k) : of("h") }
}

// What is looked at: the tensor of the chosen line, and of each number what it says to be and is.
function look(tensors, state) {
  const [name, axes] = LINES[state.way][state.step], now = tensors[name]
  const memory = tensors.x ?? tensors.out, heads = tensors.heads ?? tensors.out
  const right = read(heads).place.map(k => role("bhtj", index(k, heads.shape), state))
  const { flat, place } = read(now), claimed = place.map(k => role(axes, index(k, now.shape), state))
  const isBad = v => claimed[v].t !== right[v].t || claimed[v].h !== right[v].h
  const isNew = x => x.data !== memory.data, names = Object.keys(tensors)
  return {
    name, axes, now, memory, right, flat, place, claimed, isBad, bad: flat.filter(isBad).length, isNew: isNew(now),
    there: names.filter(one => !isNew(tensors[one])), copied: names.filter(one => isNew(tensors[one])),
  }
}

// Where a piece is drawn: its row, the block of rows, and how many pieces are left of it. A row that
// is whole stands where the first of its pieces will.
function spot({ t, h }, axes, state) {
  if (axes === "btc") return [t * state.num_heads, t, h]
  return axes === "bthj" ? [t * state.num_heads + h, t, 0] : [h * state.seq_len + t, h, 0]
}

// The index of a number, and its place in memory: each index times the stride of its axis.
function find({ now, place }, v) {
  const at = index(place[v], now.shape)
  return { at, address: at.reduce((sum, i, axis) => sum + i * now.strides[axis], now.offset) }
}

const drawn = new WeakMap()
function render(view, result, state, words, set) {
  if (!drawn.has(view)) drawn.set(view, build(view, words))
  const ui = drawn.get(view), { seen } = result, { now, memory, axes, right, claimed, isBad, isNew } = seen
  const hue = v => (state.colour === "head" ? right[v].h : right[v].t)
  Object.assign(ui, { seen, state, words, set })
  lines(ui, result)

  const size = state.seq_len * state.num_heads, blocks = Math.max(state.seq_len, state.num_heads)
  put(ui.stage, "style", `--columns: ${state.num_heads * state.d_k}; --width: ${state.d_k}; --rows: ${size}; --gaps: ${blocks - 1}`)
  ui.cells = fillPieces(ui.pieces, memory.data, state.d_k, hue, () => h("button", { type: "button", name: "split_merge-cell", class: "cell", tabindex: -1, "aria-pressed": "false" }))
  ui.pieces.nodes.forEach((piece, i) => {
    const v = i * state.d_k, [row, gap, left] = spot(claimed[v], axes, state)
    put(piece, "style", `transform: translate(${100 * left}%, ${100 * row + 40 * gap}%)`)  // of its own size
    put(piece, "class", isBad(v) ? "piece bad" : "piece")
  })
  labels(ui)

  const wasNew = !ui.copied.hidden
  say(ui.titles[0], words.memory(seen.there.join(words.and)))
  say(ui.titles[1], words.new(seen.copied.join(words.and)))
  strip(ui.first, memory.data, state.d_k, hue)
  ui.copied.hidden = !isNew
  if (isNew) strip(ui.copy, now.data, state.d_k, hue)
  light(ui, state.cell)
  if (isNew && !wasNew) fly(ui, now.data, state.d_k)
}

// What stays on the page, with what listens to it.
function build(view, words) {
  const group = (tag, given) => { const parent = h(tag, given); return { parent, nodes: [] } }
  const pieces = group("div", { role: "group", "aria-label": words.cells }), labels = group("div", { class: "labels", "aria-hidden": "true" })
  const first = group("div", { class: "strip", "aria-hidden": "true" }), copy = group("div", { class: "strip new", "aria-hidden": "true" })
  const steps = Object.keys(LINES.split).map(() => ({ input: h("input", { type: "radio", name: "split_merge-step" }), code: h("code"), info: h("small") }))
  const list = h("fieldset", { class: "steps" }, h("legend", {}, words.step), steps.map(({ input, code, info }) => h("label", {}, input, h("span", {}, code, info))))
  const stage = h("div", { class: "stage" }, labels.parent, pieces.parent), name = h("code"), sum = h("span", { class: "terms" })
  const titles = [h("p"), h("p")], copied = h("div", { hidden: true }, titles[1], copy.parent)
  const ui = { steps, stage, pieces, labels, titles, first, copy, copied, name, sum }
  view.append(h("div", { class: "half" }, list), h("div", { class: "half" }, stage),
    h("div", { class: "whole memory" }, h("p", { class: "address", "aria-hidden": "true" }, name, sum), titles[0], first.parent, copied))

  const value = event => event.target.closest("[data-value]")?.dataset.value
  const choose = v => { if (v !== undefined && Number(v) !== ui.state.cell) ui.set({ cell: Number(v) }) }
  steps.forEach(({ input }) => input.addEventListener("change", () => ui.set({ step: input.value })))
  for (const place of [pieces.parent, first.parent, copied]) {
    place.addEventListener("pointerover", event => { if (value(event) !== undefined) light(ui, Number(value(event))) })
    place.addEventListener("pointerleave", () => light(ui, ui.state.cell))
    place.addEventListener("click", event => choose(value(event)))
  }
  pieces.parent.addEventListener("focusin", event => choose(value(event)))
  pieces.parent.addEventListener("keydown", event => {
    const width = ui.seen.now.shape.at(-1), step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: width, ArrowUp: -width }[event.key]
    const to = ui.seen.flat[ui.seen.place[ui.state.cell] + step]
    if (step) event.preventDefault()
    if (to !== undefined) ui.cells[to].focus()
  })
  return ui
}

// What is as it was is not touched: the browser would lay it out again.
const put = (element, name, value) => { if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value) }
const say = (element, text) => { if (element.textContent !== String(text)) element.textContent = text }

// As many nodes as are needed: those that are there stay.
function fill(group, length, make) {
  while (group.nodes.length > length) group.nodes.pop().remove()
  const more = Array.from({ length: length - group.nodes.length }, (_, i) => make(group.nodes.length + i))
  group.nodes.push(...more)
  group.parent.append(...more)
}

function lines({ steps, state, words }, result) {
  Object.entries(LINES[state.way]).forEach(([step, [name, , code]], i) => {
    const x = result[name], { input, code: place, info } = steps[i]
    input.value = step
    input.checked = step === state.step
    say(place, `${name} = ${code(state, x.shape.join(", "))}`)
    say(info, words.layout(tuple(x.shape), tuple(x.strides)))
  })
}
const tuple = list => `(${list.join(", ")})`

// In front of a block of rows, which token or head it is by its index; behind a row, which it holds.
function labels({ labels: group, seen: { axes, flat, claimed, right, isBad }, state, words }) {
  const isWhole = axes === "btc", width = isWhole ? state.num_heads * state.d_k : state.d_k, [outer, inner] = axes === "bhtj" ? "ht" : "th"
  const found = flat.filter((_, k) => k % width === 0).flatMap(v => {
    const [row, gap] = spot(claimed[v], axes, state), style = `--row: ${row}; --gap: ${gap}`
    const held = isBad(v) ? `✗ ${[words.t(right[v].t), words.h(right[v].h)].join(words.comma)}` : words[inner](right[v][inner])
    return [isWhole || claimed[v][inner] === 0 ? ["block", style, words[outer](claimed[v][outer])] : null, isWhole ? null : [isBad(v) ? "row bad" : "row", style, held]].filter(Boolean)
  })
  fill(group, found.length, () => h("span"))
  found.forEach(([kind, style, text], i) => {
    put(group.nodes[i], "class", kind)
    put(group.nodes[i], "style", style)
    say(group.nodes[i], text)
  })
}

// Numbers in pieces, which stay together whatever is done; the cells of all of them.
function fillPieces(group, numbers, d_k, hue, make) {
  fill(group, numbers.length / d_k, () => h("span", { class: "piece" }))
  return group.nodes.flatMap((piece, i) => {
    const cells = { parent: piece, nodes: [...piece.children] }
    put(piece, "data-hue", hue(numbers[i * d_k]))
    fill(cells, d_k, make)
    cells.nodes.forEach((cell, j) => {
      put(cell, "data-value", numbers[i * d_k + j])
      say(cell, numbers[i * d_k + j])
    })
    return cells.nodes
  })
}

// A strip of memory: the number in each place.
function strip(group, data, d_k, hue) {
  group.cells = fillPieces(group, data, d_k, hue, () => h("span"))
  group.cells.forEach((cell, i) => put(cell, "data-place", i))
}

// Light a number: in the tensor, in memory, and how one is found by the other.
function light(ui, v) {
  const { seen, state, words } = ui, { name, axes, now, isNew } = seen, { at, address } = find(seen, v)
  const lit = [ui.cells[v], ui.first.cells[v], isNew ? ui.copy.cells[address] : null].filter(Boolean)
  for (const one of ui.lit ?? []) if (!lit.includes(one)) one.classList.remove("lit")
  for (const one of lit) one.classList.add("lit")
  ui.lit = lit
  for (const [cell, isChosen] of [[ui.chosen, false], [ui.cells[state.cell], true]]) {
    if (cell) put(cell, "tabindex", isChosen ? 0 : -1)
    if (cell) put(cell, "aria-pressed", isChosen)
  }
  ui.chosen = ui.cells[state.cell]
  say(ui.name, `${name}[${at.join(", ")}]`)
  ui.sum.replaceChildren(...at.flatMap((i, k) => [k ? "+" : "", h("span", {}, `${i}·${now.strides[k]}`, h("small", {}, words.axes[axes[k]]))]), "=", h("b", {}, String(address)))
}

// The copy is written piece by piece, each out of its old place.
function fly({ first, copy }, data, d_k) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return
  const way = copy.nodes.map((piece, i) => ["Left", "Top"].map(side => `${first.nodes[data[i * d_k] / d_k][`offset${side}`] - piece[`offset${side}`]}px`))
  copy.nodes.forEach((piece, i) => piece.animate([{ transform: `translate(${way[i].join()})` }, { transform: "none" }],
    { duration: 450, delay: i * Math.min(120, 900 / way.length), easing: "ease-in-out", fill: "backwards" }))
}

function says(result, state, words) {
  const { seen } = result, { axes, now, flat, right, bad } = seen, { at, address } = find(seen, state.cell)
  const [heads, numbers] = now.shape.slice(-2), step = now.strides.at(-2)
  const pieces = flat.filter((_, k) => k % state.d_k === 0).slice(0, axes === "btc" ? state.num_heads : state.seq_len).map(v => right[v].t)
  return words[`${state.way}.${state.step}`]({
    ...state, bad, all: flat.length, pieces: pieces.join(words.and), isNew: seen.isNew, step, joins: heads === 1 || numbers === 1 || step === numbers,
  }) + words.cell(`${seen.name}[${at.join(", ")}]`, address, seen.isNew)
}

const NAMES = { bhtj: "batch, num_heads, seq_len, d_k", bthj: "batch, seq_len, num_heads, d_k", btc: "batch, seq_len, num_heads * d_k" }

function python(state) {
  const { way, seq_len, num_heads, d_k } = state, made = Object.values(LINES[way]), tensors = made.map(([name]) => name), [start] = tensors
  return [
    "import torch", "",
    `from headwise.heads import ${way}_heads`, "",
    `batch, seq_len, num_heads, d_k = 1, ${seq_len}, ${num_heads}, ${d_k}`,
    ...made.map(([name, axes, code]) => `${name} = ${code(state, NAMES[axes])}`), "",
    `for tensor in (${tensors.join(", ")}):`,
    `    moved = tensor.data_ptr() != ${start}.data_ptr()`,
    "    print(tuple(tensor.shape), tensor.stride(), \"moved\" if moved else \"same memory\")",
    way === "split" ? "print(torch.equal(heads, split_heads(x, num_heads)))" : "print(torch.equal(merged, merge_heads(out)))",
    `print((${LINES[way][state.step][0]} == ${state.cell}).nonzero().tolist())`,
  ].join("\n")
}

const range = (min, max, value) => ({ kind: "range", min, max, value })
const choice = (...options) => ({ kind: "choice", options, value: options[0] })

export default {
  graphs: ["split_heads", "split_by_reshape", "merge_heads", "merge_without_transpose"],
  controls: {
    way: choice("split", "merge"),
    seq_len: range(1, MOST.seq_len, 3),
    num_heads: range(1, MOST.num_heads, 2),
    d_k: range(1, MOST.d_k, 4),
    colour: choice("token", "head"),
    step: { ...choice(...Object.keys(LINES.split)), value: "transpose", inside: true },
    cell: { ...range(0, MOST.seq_len * MOST.num_heads * MOST.d_k - 1, 23), inside: true },
  },
  fix: state => ({ ...state, cell: Math.min(state.cell, all(state) - 1) }),
  compute, render, says, python,
  words: {
    zh: {
      title: "拆头与合头",
      comma: "，", and: "、", way: "方向", "way.split": "拆头", "way.merge": "合头",
      seq_len: "词元数 seq_len", num_heads: "头数 num_heads", d_k: "每个头的宽度 d_k",
      colour: "颜色表示", "colour.token": "词元", "colour.head": "头",
      step: "逐行点击，看每一行做了什么", cells: "这个张量里的数", memory: names => `内存（${names} 共用），每个数就是它的位置`, new: names => `新的内存（${names}），下面是位置`,
      layout: (shape, strides) => `形状 ${shape}，步长 ${strides}`,
      t: i => `${i} 号词元`, h: i => `${i} 号头`, axes: { b: "批次", t: "词元", h: "头", j: "数", c: "数" },
      cell: (entry, place, isNew) => `${entry} 在${isNew ? "新的" : ""}内存的 ${place} 号格。`,
      "split.start": () => "一行一个词元；数在内存里的次序，就是阅读的次序。",
      "split.view": ({ num_heads }) => `view 把每一行切成 ${num_heads} 段，一个头一段，多出一个步长。内存里什么都没动。`,
      "split.transpose": ({ pieces }) => `transpose 让两个步长互换，内存里还是什么都没动。可是读法变了，一个头接一个头：0 号头拿到词元 ${pieces} 的一段。`,
      "split.contiguous": ({ isNew }) => (isNew ? "contiguous 按现在的读法，把数抄进一块新的内存。" : "数已经按这个次序排好了，什么也不用抄。"),
      "split.reshape": ({ bad, all, pieces }) => (bad ? `形状对，也不报错，内容却错了：0 号头拿到的段，来自词元 ${pieces}。${all} 个数里有 ${bad} 个放错了。` : "只有一个头或一个词元，抄近路碰巧也对。"),
      "merge.start": () => "注意力的结果，是一个头接一个头写在内存里的。",
      "merge.transpose": ({ joins, step }) => `读起来，一个词元的几段又挨着了；内存里什么都没动。${joins ? "这里 view 就能把它们接起来。" : `view 接不起来：下一个数在 1 格之外，下一段在 ${step} 格之外，没有一个步长能走完。`}`,
      "merge.contiguous": ({ isNew }) => (isNew ? "contiguous 按现在的读法，把数抄进一块新的内存。" : "数已经按这个次序排好了，什么也不用抄。"),
      "merge.view": () => "view 把几段接成一行：一行又是一个词元。",
      "merge.reshape": ({ bad, all, pieces }) => (bad ? `形状对，也不报错，内容却错了：0 号词元那一行里的段，来自词元 ${pieces}。${all} 个数里有 ${bad} 个放错了。` : "只有一个头或一个词元，抄近路碰巧也对。"),
    },
    en: {
      title: "Split and merge",
      comma: ", ", and: ", ", way: "Direction", "way.split": "split", "way.merge": "merge",
      seq_len: "Tokens, seq_len", num_heads: "Heads, num_heads", d_k: "Width of a head, d_k",
      colour: "Colour shows the", "colour.token": "token", "colour.head": "head",
      step: "Click line by line to see what each one does", cells: "The numbers of this tensor", memory: names => `Memory of ${names}: each number is its own place`, new: names => `New memory, of ${names}, with the places below`,
      layout: (shape, strides) => `shape ${shape}, strides ${strides}`,
      t: i => `token ${i}`, h: i => `head ${i}`, axes: { b: "batch", t: "token", h: "head", j: "number", c: "number" },
      cell: (entry, place, isNew) => `${entry} is at place ${place} of the ${isNew ? "new " : ""}memory.`,
      "split.start": () => "A row is a token, and the numbers are in memory in the order in which you read them. ",
      "split.view": ({ num_heads }) => `view cuts each row into ${num_heads} ${num_heads === 1 ? "piece" : "pieces"}, one for each head, which takes one more stride. In memory, nothing moves. `,
      "split.transpose": ({ pieces }) => `transpose swaps two strides, and still nothing moves in memory. But now you read head by head: head 0 has the pieces of tokens ${pieces}. `,
      "split.contiguous": ({ isNew }) => (isNew ? "contiguous copies the numbers into new memory, in the order in which you read them. " : "The numbers are in this order already: there is nothing to copy. "),
      "split.reshape": ({ bad, all, pieces }) => (bad ? `The shape is right and there's no error, but head 0 has pieces of tokens ${pieces}. In the wrong place: ${bad} of ${all} numbers. ` : "With a single head or token, the shortcut happens to be right. "),
      "merge.start": () => "This is how attention writes its result into memory: head by head. ",
      "merge.transpose": ({ joins, step }) => `You read a token's pieces next to each other again, but in memory nothing moves. ${joins ? "Here view could join them. " : `So view can't join them: the next number is 1 away, the next piece ${step}, and no single stride reaches both. `}`,
      "merge.contiguous": ({ isNew }) => (isNew ? "contiguous copies the numbers into new memory, in the order in which you read them. " : "The numbers are in this order already: there is nothing to copy. "),
      "merge.view": () => "view joins the pieces: a row is a token again. ",
      "merge.reshape": ({ bad, all, pieces }) => (bad ? `The shape is right and there's no error, but the row of token 0 has pieces of tokens ${pieces}. In the wrong place: ${bad} of ${all} numbers. ` : "With a single head or token, the shortcut happens to be right. "),
    },
  },
}
