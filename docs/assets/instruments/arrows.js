// Arrows: a query and three keys in the plane, the weights that they make, and what those mix.

import { h } from "./frame.js"
import { tensor } from "./tensor.js"
import { inWords, listed, shown } from "./views.js"

const REACH = 5, EDGE = 5.8  // how far a tip can go, and how far the plane is seen
const NAMES = ["q", "k0", "k1", "k2"]
const VALUES = [[47, 127, 208], [200, 100, 44], [43, 138, 87]]  // what keys hand over: red, green, blue
const MEASURES = ["lengths", "cosines", "dots", "scores"]
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }
const LONGER = { PageUp: 1, PageDown: -1 }

const row = x => x.view([1, x.size], [x.size, 1])

function compute({ arrows: [query, ...keys], scaled, tied }, graphs) {
  const K = tensor([[keys]]), V = tied ? K : tensor([[VALUES]])
  const { outputs, values } = graphs[scaled ? "attention" : "attention_unscaled"].run({ Q: tensor([[[query]]]), K, V })
  const [length, lengths, dots, cosines, feet] = graphs.compare.run({ query: tensor(query), keys: tensor(keys) }).outputs
  return {
    length, lengths, dots: row(dots), cosines: row(cosines), scores: row(values.scores[0]),
    weights: row(outputs[1]), out: row(outputs[0]), feet: feet.list(),
  }
}

const colour = numbers => `rgb(${numbers.map(Math.round).join(" ")})`
const largest = list => list.reduce((best, x, i) => (x > list[best] || Number.isNaN(list[best]) ? i : best), 0)
const number = x => (Number.isNaN(x) ? "–" : shown(x))

// The plane's y goes up, and that of a drawing down.
function arrow([x, y]) {
  const angle = Math.atan2(y, x), barb = turn => `${x - 0.45 * Math.cos(angle + turn)} ${0.45 * Math.sin(angle + turn) - y}`
  return x || y ? `M0 0L${x} ${-y}M${barb(0.45)}L${x} ${-y}L${barb(-0.45)}` : ""
}

const put = (element, given) => { for (const [name, value] of Object.entries(given)) element.setAttribute(name, value) }
const write = (element, text) => { if (element.textContent !== text) element.textContent = text }

// All that is seen, built once; what comes back shows another result in it.
function build(view, words, set) {
  let now
  const move = (i, x, y) => set({ arrows: now.arrows.map((one, j) => (j === i ? [x, y] : one)) })

  const keyed = i => event => {
    const [x, y] = now.arrows[i], length = Math.hypot(x, y), by = event.shiftKey ? 0.1 : 0.5
    const [right, up] = MOVES[event.key] ?? (length && LONGER[event.key] ? [x, y].map(part => LONGER[event.key] * part / length) : [])
    if (right === undefined) return
    event.preventDefault()
    move(i, x + by * right, y + by * up)
  }
  const handles = NAMES.map((name, i) => h("input", {
    type: "range", class: "handle", name: `arrows-${name}`, min: -REACH, max: REACH, step: 0.1, "aria-label": i ? words.key(name) : words.query, "aria-describedby": "arrows-hint",
    onkeydown: keyed(i), oninput: event => move(i, event.target.value, now.arrows[i][1]),  // as a screen reader turns it
  }))
  // Not of the drawing: there, browsers would scroll the page as well.
  const grips = handles.map((handle, i) => {
    let from
    return h("div", {
      class: "grip",
      onpointerdown: event => {
        const unit = svg.getBoundingClientRect().width / (2 * EDGE), [x, y] = now.arrows[i]
        from = { unit, x: x - event.clientX / unit, y: y + event.clientY / unit }
        event.target.setPointerCapture(event.pointerId)
        handle.focus({ preventScroll: true })
      },
      onpointermove: event => { if (from) move(i, from.x + event.clientX / from.unit, from.y - event.clientY / from.unit) },
      onlostpointercapture: () => { from = null },
      onmousedown: event => event.preventDefault(),  // or the handle would lose the focus again
    }, handle)
  })

  const shafts = [...NAMES, "out"].map(name => h("path", { class: `shaft ${name}` }))
  const labels = [...NAMES, "out"].map(name => h("text", {}, name))
  const line = h("line", { class: "line" })
  const drops = VALUES.map((_, i) => h("line", { class: `drop k${i}` })), feet = VALUES.map((_, i) => h("circle", { class: `foot k${i}`, r: 0.1 }))
  const mixture = h("circle", { class: "mixture", r: 0.35 })
  const ticks = Array.from({ length: 2 * REACH + 1 }, (_, i) => `M${i - REACH} ${-REACH}V${REACH}M${-REACH} ${i - REACH}H${REACH}`)
  const svg = h("svg", { viewBox: `${-EDGE} ${-EDGE} ${2 * EDGE} ${2 * EDGE}`, "aria-hidden": "true" },
    h("path", { class: "grid", d: ticks.join("") }), h("path", { class: "axes", d: `M0 ${-REACH}V${REACH}M${-REACH} 0H${REACH}` }),
    line, drops, feet, shafts, mixture, labels)

  const swatch = i => h("span", { class: "swatch", style: i === undefined ? "" : `background: ${colour(VALUES[i])}` })
  const mixed = swatch()
  const cells = VALUES.map(() => Object.fromEntries([...MEASURES, "bar", "weights"].map(name => [name, h(MEASURES.includes(name) ? "td" : "span", { class: name })])))
  const heads = texts => h("thead", {}, h("tr", {}, h("td", {}), texts.map(text => h("th", { scope: "col" }, text))))
  const table = (caption, texts, ...rows) => h("table", { class: "numbers" }, h("caption", {}, caption), heads(texts), h("tbody", {}, rows))
  const matching = table(words.matching, [...MEASURES, "weights"].map(name => words[name]), cells.map((cell, i) => h("tr", {},
    h("th", { scope: "row" }, swatch(i), NAMES[i + 1]), MEASURES.map(name => cell[name]), h("td", { class: "share" }, h("span", { class: `bar k${i}` }, cell.bar), cell.weights))))
  // The values, as colours and as keys, and below them their mixture.
  const mixtures = [words.colours, ["x", "y"]].map((texts, tied) => {
    const [out, ...values] = NAMES.map(() => texts.map(() => h("td")))
    const rows = values.map((value, i) => h("tr", {}, h("th", { scope: "row" }, swatch(i), `v${i}`), value))
    return { values, out, element: h("div", {}, table(tied ? words.keysMixed : words.coloursMixed, texts, rows, h("tr", { class: "out" }, h("th", { scope: "row" }, tied ? "" : mixed, "out"), out))) }
  })
  view.replaceChildren(
    h("div", { class: "plane" }, h("div", {}, svg, grips), h("p", { class: "hint", id: "arrows-hint" }, words.hint)),
    h("div", { class: "half" }, h("div", {}, matching), mixtures.map(one => one.element)))

  return (result, state) => {
    now = state
    const { arrows, tied } = state, [[qx, qy]] = arrows, out = [...result.out.flat()], far = 2 * REACH / (Math.hypot(qx, qy) || 1)
    const tips = [...arrows, tied ? out : [0, 0]]
    tips.forEach(([x, y], i) => {
      const beyond = 1 + 0.5 / (Math.hypot(x, y) || 1)
      put(shafts[i], { d: arrow([x, y]) })
      put(labels[i], i < 4 ? { x: x * beyond, y: x || y ? -y * beyond : 0.7 } : { x: 0.6 * x + 0.7, y: 0.3 - 0.6 * y, visibility: tied ? "visible" : "hidden" })
    })
    arrows.forEach(([x, y], i) => {
      grips[i].style.left = `${50 * (1 + x / EDGE)}%`
      grips[i].style.top = `${50 * (1 - y / EDGE)}%`
      handles[i].value = x
      put(handles[i], { "aria-valuetext": words.at(plain(x), plain(y), i ? number(result.lengths.flat()[i - 1]) : number(result.length.flat()[0])) })
    })
    put(line, { x1: -far * qx, y1: far * qy, x2: far * qx, y2: -far * qy })
    result.feet.forEach(([x, y], i) => {
      const [kx, ky] = arrows[i + 1], seen = Number.isNaN(x) ? "hidden" : "visible"
      put(drops[i], { x1: kx, y1: -ky, x2: x || 0, y2: -y || 0, visibility: seen })
      put(feet[i], { cx: x || 0, cy: -y || 0, visibility: seen })
    })
    for (const name of [...MEASURES, "weights"]) {
      const numbers = [...result[name].flat()], top = largest(numbers)
      numbers.forEach((x, i) => {
        write(cells[i][name], number(x))
        cells[i][name].classList.toggle("top", i === top && numbers.indexOf(x) === numbers.lastIndexOf(x))
        if (name === "weights") cells[i].bar.style.width = `${(100 * x).toFixed(2)}%`
      })
    }
    mixtures.forEach(({ values, out: cells, element }, i) => {
      element.hidden = tied !== (i === 1)
      if (element.hidden) return
      values.forEach((value, j) => value.forEach((cell, k) => write(cell, tied ? plain(arrows[j + 1][k]) : String(VALUES[j][k]))))
      cells.forEach((cell, k) => write(cell, shown(out[k], tied ? 2 : 1)))
    })
    if (!tied) mixed.style.background = mixture.style.fill = colour(out)
    put(mixture, { visibility: tied ? "hidden" : "visible" })
  }
}
const plain = x => String(x).replace("-", "−")

const built = new WeakMap()
function render(view, result, state, words, set) {
  if (!built.has(view)) built.set(view, build(view, words, set))
  built.get(view)(result, state)
}

function says(result, { tied }, words) {
  const [lengths, cosines, scores, weights] = ["lengths", "cosines", "scores", "weights"].map(name => [...result[name].flat()])
  const best = largest(cosines), top = largest(scores), equal = NAMES.slice(1).filter((_, i) => scores[i] === scores[top])
  const names = { top: NAMES[top + 1], best: NAMES[best + 1], weight: number(weights[top]), cosine: number(cosines[top]), closer: number(cosines[best]) }
  return [
    equal.length > 1 ? words.level({ equal, ...names }) : best === top ? words.agree(names) : words.differ({ isLonger: lengths[top] > lengths[best], ...names }),
    tied ? words.isTied : ""].join("")
}

function python({ arrows: [query, ...keys], scaled, tied }) {
  return [
    "import torch", "", "from headwise.attention import attention", "",
    `q = torch.tensor([${listed(query)}])  # (1, 2)`,
    `K = torch.tensor(${listed(keys)})  # (3, 2)`,
    tied ? "V = K" : `V = torch.tensor(${listed(VALUES)})  # (3, 3): red, green, blue`,
    "",
    "length, lengths = q.norm(), K.norm(dim=-1)",
    "dots = q @ K.T  # (1, 3)",
    "cosines = dots / (length * lengths)",
    scaled ? "scores = dots / 2**0.5  # d_k is 2" : "scores = dots",
    scaled ? "out, weights = attention(q, K, V)" : "out, weights = attention(2**0.5 * q, K, V)  # so that dividing by √2 changes nothing",
    "print(weights, out)",
  ].join("\n")
}

export default {
  graphs: ["attention", "attention_unscaled", "compare"],
  controls: {
    scaled: { kind: "toggle", value: true },
    tied: { kind: "toggle", value: false },
    arrows: { kind: "table", min: -REACH, max: REACH, step: 0.1, value: [[2, 0], [2, 1], [1, 2], [-2, 1]], inside: true },
  },
  compute, render, says, python,
  words: {
    zh: {
      title: "箭头",
      scaled: "除以 √d_k（这里是 √2）", tied: "拿键当值（V = K）",
      query: "查询 q", key: name => `键 ${name}`, hint: "拖动箭头的尖端；或者用 Tab 选中，方向键移动，Page Up 拉长，Page Down 缩短。",
      at: (x, y, length) => `横 ${x}，纵 ${y}，长 ${length}`,
      matching: "查询看每个键", lengths: "模长", cosines: "余弦", dots: "点积", scores: "分数", weights: "权重",
      coloursMixed: "每个键交出一种颜色，按权重混成圆点的颜色", colours: ["红", "绿", "蓝"], keysMixed: "把键按权重混合",
      level: ({ equal, weight }) => `${equal.join("、")} 的分数相同，权重也相同：${weight}。`,
      agree: ({ top, weight, cosine }) => `${top} 离查询的方向最近（余弦 ${cosine}），权重也最大：${weight}。`,
      differ: ({ top, best, weight, cosine, closer, isLonger }) => `${top} 的权重最大：${weight}。可是方向离查询最近的是 ${best}（余弦 ${closer}，${top} 只有 ${cosine}）；${top} 胜在${isLonger ? "更长" : "更短，点积负得更少"}。`,
      isTied: "现在 V = K：移动一个键，不光改了它的权重，也改了它交出的内容。",
    },
    en: {
      title: "Arrows",
      scaled: "Divide by √d_k (here √2)", tied: "Use keys as values (V = K)",
      query: "Query q", key: name => `Key ${name}`, hint: "Drag the tips. Or pick one with Tab: arrow keys move it, Page Up and Page Down make it longer and shorter.",
      at: (x, y, length) => `x ${x}, y ${y}, length ${length}`,
      matching: "What the query makes of each key", lengths: "length", cosines: "cosine", dots: "q · k", scores: "score", weights: "weight",
      coloursMixed: "Each key hands over a colour; the disc is their mixture", colours: ["red", "green", "blue"], keysMixed: "The keys, mixed",
      level: ({ equal, weight }) => `${inWords(equal)} have the same score, so they get the same weight, ${weight}.`,
      agree: ({ top, weight, cosine }) => `${top} points closest to the query (cosine ${cosine}) and gets the most weight, ${weight}.`,
      differ: ({ top, best, weight, cosine, closer, isLonger }) => `${top} gets the most weight, ${weight}, although ${best} points closer to the query (cosine ${closer}, against ${cosine} for ${top}). ${top} wins because it's ${isLonger ? "longer" : "shorter, so its dot product is less negative"}.`,
      isTied: " With V = K, moving a key changes its weight, and also what it hands over.",
    },
  },
}
