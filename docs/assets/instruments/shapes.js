// Shapes: the lines of MultiHeadAttention that run when weights are asked for, and what each makes.

import { h } from "./frame.js"
import { empty } from "./tensor.js"

const SIZES = ["batch", "seq_len", "d_model", "num_heads"]
const WEIGHTS = { W_q: 5, W_k: 7, W_v: 9, W_o: 11 }

// Some numbers that the Python block makes too: whole ones around 0, over and over, divided.
function numbers(shape, count, divisor = 1) {
  const x = empty(shape)
  for (let i = 0; i < x.size; i++) x.data[i] = (i % count - (count - 1) / 2) / divisor
  return x
}

const kept = new Map()
function matrices(d_model) {
  if (!kept.has(d_model)) kept.set(d_model, Object.fromEntries(Object.entries(WEIGHTS).map(([name, count]) => [name, numbers([d_model, d_model], count, d_model)])))
  return kept.get(d_model)
}

const isRefused = ({ d_model, num_heads }) => d_model % num_heads !== 0

// The tensors by name, and each line with what it makes: [name, shape], or nothing where it refuses.
function compute(state, graphs) {
  const { batch, seq_len, d_model, num_heads } = state, graph = graphs.any_heads
  const first = { depth: 0, code: "mha(query, need_weights=True)", axes: SIZES.slice(0, 3) }
  const lines = graph.lines.map(([depth, , code, axes, made]) => ({ depth, code, axes, made }))
  if (isRefused(state)) return { lines: [first, ...lines].map(line => ({ ...line, made: [] })), refusal: graph.refusal.replace("{num_heads}", num_heads).replace("{d_model}", d_model) }
  const query = numbers([batch, seq_len, d_model], 13)
  const { outputs: [out, weights], values: { Q: [Q], K: [K], V: [V] }, places } = graph.run({ query, ...matrices(d_model), num_heads })
  const shapes = made => Object.entries(made).map(([name, place]) => [name, places[place.slice(1)].shape])
  return { query, Q, K, V, weights, out, lines: [{ ...first, made: [["query", query.shape]] }, ...lines.map(line => ({ ...line, made: shapes(line.made) }))] }
}

// The lines stay; what changes is the numbers, which are lit until the next change.
function render(view, result, state, words) {
  const { refusal = "", lines } = result
  if (!view.firstChild) {
    view.append(h("div", { class: "whole" },
      h("p", { class: "message", lang: "en" }),
      h("ol", { class: "lines", "aria-label": words.lines }, lines.map(({ depth, code }) => h("li", { style: `--depth: ${depth}` }, h("code", {}, code), h("span", { class: "made" }))))))
  }
  const [message, list] = view.firstChild.children
  message.textContent = refusal && `ValueError: ${refusal}`
  message.hidden = !refusal
  lines.forEach(({ axes, made }, i) => {
    const place = list.children[i].lastChild
    place.hidden = !made.length
    if (!place.firstChild) place.append(...made.map(([name, shape]) => h("span", {}, made.length > 1 || !i ? `${name} ` : "", "(", shape.map((_, k) => named(axes, k, shape.length)), ")")))
    const cells = place.querySelectorAll("b")
    made.flatMap(([, shape]) => shape).forEach((size, k) => {
      cells[k].classList.toggle("changed", cells[k].textContent !== "" && cells[k].textContent !== String(size))
      cells[k].textContent = size
    })
  })
}

// An axis, and its name if the source gives it; "..." is all axes in front of the others.
function named(axes, k, rank) {
  const name = axes?.at(k - rank) ?? "...", isLast = k === rank - 1
  return [h("span", { class: "axis" }, name === "..." ? "" : `${name} `, h("b", {}), isLast ? "" : ","), isLast ? "" : " "]
}

function says(result, state, words) {
  if (result.refusal) return words.refused
  const { Q, weights, out } = result
  return words.says({ ...state, d_k: Q.shape[3], table: weights.shape.slice(2).join(" × "), tables: weights.shape[0] * weights.shape[1], out: `(${out.shape.join(", ")})` })
}

function python(state) {
  if (isRefused(state)) return ["from headwise import MultiHeadAttention", "", "try:", `    MultiHeadAttention(${state.d_model}, ${state.num_heads})`, "except ValueError as error:", "    print(error)"].join("\n")
  return [
    "import torch", "",
    "from headwise import MultiHeadAttention",
    "from headwise.trace import trace", "",
    `${SIZES.join(", ")} = ${SIZES.map(name => state[name]).join(", ")}`,
    "mha = MultiHeadAttention(d_model, num_heads, bias=False)",
    "query = torch.arange(batch * seq_len * d_model).view(batch, seq_len, d_model) % 13 - 6.0",
    "with torch.no_grad():",
    `    for W, count in zip(mha.parameters(), (${Object.values(WEIGHTS).join(", ")})):`,
    "        W.copy_((torch.arange(d_model**2) % count - count // 2).view_as(W) / d_model)",
    "    Q = mha.project_queries(query)",
    "    K, V = mha.project_keys(query, query)",
    "    out, weights = mha(query, need_weights=True)", "",
    "for step in trace(mha, query, need_weights=True):",
    "    print(step.function, step.name, step.shape)",
  ].join("\n")
}

const range = (min, max, value, step = 1) => ({ kind: "range", min, max, step, value })

export default {
  graphs: ["any_heads"],
  controls: { batch: range(1, 4, 2), seq_len: range(1, 16, 5), d_model: range(8, 64, 32, 8), num_heads: range(1, 8, 4) },
  compute, render, says, python,
  words: {
    zh: {
      title: "逐行看形状",
      batch: "句子数 batch", seq_len: "词元数 seq_len", d_model: "宽度 d_model", num_heads: "头数 num_heads",
      lines: "运行到的每一行，和它得到的形状",
      refused: "头数不能整除宽度，代码库拒绝了：每个头分不到整数个特征。",
      says: ({ d_model, num_heads, d_k, tables, table, out }) => `宽度 ${d_model} 分给 ${num_heads} 个头，每个头 d_k = ${d_k}。权重表一共 ${tables} 张，每张 ${table}。输出是 ${out}，和输入一样。`,
    },
    en: {
      title: "Shapes, line by line",
      batch: "Sentences, batch", seq_len: "Tokens, seq_len", d_model: "Width, d_model", num_heads: "Heads, num_heads",
      lines: "Each line that runs, and the shape that it makes",
      refused: "The heads don't divide the width, so the library refuses: no head could get a whole number of features.",
      says: ({ d_model, num_heads, d_k, tables, table, out }) => `A width of ${d_model} for ${num_heads} ${num_heads === 1 ? "head" : "heads"} gives d_k = ${d_k}. Tables of weights: ${tables}, each ${table}. The output is ${out}, like the input.`,
    },
  },
}
