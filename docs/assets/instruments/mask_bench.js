// The mask bench: what a mask hides, as each library writes it, and what that does to the weights.

import { h } from "./frame.js"
import { expand, tensor } from "./tensor.js"
import { grid } from "./views.js"

const LENGTH = 6, HEADS = 2
const FILLS = { "-inf": "fill_inf", "-1e9": "fill_1e9", "finfo.min": "fill_min" }
const CONVENTIONS = ["mask", "sdpa", "attn_mask", "key_padding_mask", "additive", "attention_mask"]
const FOR_KEYS = ["key_padding_mask", "attention_mask"]

// Queries and keys of two sentences and two heads: some numbers that the Python block makes too.
const numbers = (b, h, t, d, seed) => Array.from({ length: 2 }, (_, i) => Array.from({ length: HEADS }, (_, j) =>
  Array.from({ length: LENGTH }, (_, k) => Array.from({ length: 4 }, (_, l) => ((b * i + h * j + t * k + d * l + seed) % 7 - 3) / 2))))
const Q = tensor(numbers(1, 2, 3, 5, 0)), K = tensor(numbers(3, 1, 5, 2, 1))

const lengths = state => [state.first, state.second]
const forgets = state => state.axis === "forgotten"

function compute(state, graphs) {
  const run = (name, given) => graphs[name].run(given).outputs[0]
  const padding = run(state.side === "left" ? "left_padding_mask" : "padding_mask", { lengths: tensor(lengths(state), "int64"), seq_len: LENGTH })
  const ahead = state.window ? run("window_mask", { seq_len: LENGTH, window: state.window })
    : state.causal ? run("causal_mask", { seq_len: LENGTH }) : null
  const mask = ahead ? run("combine", { a: padding, b: ahead }) : padding
  const rows = expand(mask, [2, 1, LENGTH, LENGTH]), all = [2, HEADS, LENGTH, LENGTH]
  // Without its head axis, broadcasting puts the batch axis where the heads are.
  const given = forgets(state) ? rows.view(all, [0, rows.strides[0], ...rows.strides.slice(2)]) : expand(rows, all)

  const scores = graphs.attention.run({ Q, K, V: K }).values.scores[0]
  return { mask, visible: rows.list(), converted: convert(state, mask, rows, run), scores, ...weigh(state, graphs, scores, given) }
}

// The mask as another library wants it; nothing where that library has no way to write it.
function convert(state, mask, rows, run) {
  if (FOR_KEYS.includes(state.convention)) return state.causal ? null : run(`to_${state.convention}`, { mask })
  if (state.convention === "additive") return run("to_additive", { mask })
  return state.convention === "attn_mask" ? run("to_attn_mask", { mask: rows, num_heads: HEADS }) : mask
}

// The scores that softmax gets and the weights; none where the library refuses the mask.
function weigh(state, graphs, scores, mask) {
  if (state.when === "after") return { filled: null, weights: graphs.mask_after.run({ scores, mask }).outputs[0] }
  if (state.fill === "library") {
    if (forgets(state)) return { filled: null, weights: null }
    const { values } = graphs.attention_masked.run({ Q, K, V: K, mask })
    return { filled: values.scores[1], weights: values.weights.at(-1) }
  }
  const { values } = graphs[FILLS[state.fill]].run({ scores, mask })
  const [weights] = values.weights ?? Object.entries(values).find(([name]) => name.endsWith("()"))[1]
  return { filled: values["masked_fill.Scalar"][0], weights }
}

const total = row => row.reduce((a, b) => a + b, 0)
const isOff = sum => !(Math.abs(sum - 1) < 1e-4)

function chosen(result, { sentence, head }) {
  const b = sentence - 1, i = head - 1, part = x => x?.list()[b][i]
  const { converted } = result
  const list = converted?.list()
  const shown = !list ? null
    : converted.shape.length === 2 ? [list[b]]
      : converted.shape.length === 3 ? list[b * HEADS + i] : list[b][0]
  const weights = part(result.weights)
  return { shown, filled: part(result.filled ?? result.scores), rows: result.visible[b][0], weights, sums: weights?.map(total) }
}

function tokens(state) {
  const n = lengths(state)[state.sentence - 1], letters = [..."abcdef"]
  const isPad = i => (state.side === "left" ? i < LENGTH - n : i >= n)
  return letters.map((letter, i) => (isPad(i) ? "·" : letter))
}

function render(view, result, state, words) {
  const { shown, filled, rows, weights, sums } = chosen(result, state), labels = tokens(state)
  const options = { rows: labels, columns: labels }
  const hides = x => (state.convention === "additive" ? x < 0 : ["attn_mask", "key_padding_mask"].includes(state.convention) ? x : !x)
  const shape = result.converted && `(${result.converted.shape.join(", ")})`
  const message = text => h("p", { class: "message" }, text)
  view.replaceChildren(
    h("div", {}, shown ? grid(`${state.convention === "sdpa" ? "attn_mask" : state.convention} ${shape}`, shown, {
      ...options, rows: shown.length > 1 ? labels : [""], digits: 0, mark: x => (hides(x) ? "hidden" : "seen"),
    }) : message(words.cannot)),
    h("div", {}, grid(result.filled ? words.filled : words.scores, filled, {
      ...options, digits: 1, heat: x => (x + 5) / 10, mark: (x, i, j) => (rows[i][j] ? "seen" : "hidden"),
    })),
    h("div", {}, weights ? grid(words.weights, weights, {
      ...options, heat: x => x, mark: x => (Number.isNaN(x) ? "bad" : ""),
      sums: { label: words.sum, values: sums, mark: sum => (isOff(sum) ? "bad" : "") },
    }) : message(words.refused)))
}

function says(result, state, words) {
  const { weights, sums, rows } = chosen(result, state)
  if (!weights) return words.refused
  const nan = sums.filter(Number.isNaN).length, blind = rows.filter(row => !row.includes(true)).length
  const leak = weights.flatMap((row, i) => row.filter((x, j) => x > 1e-6 && !rows[i][j])).length
  const lost = weights.flatMap((row, i) => row.filter((x, j) => !(x > 1e-6) && rows[i][j])).length
  return words.says({ nan, blind, leak, lost, off: sums.filter(sum => isOff(sum) && !Number.isNaN(sum)).length })
}

function python(state) {
  const after = state.when === "after", mask = forgets(state) ? "mask.expand(2, 1, 6, 6)[:, 0]" : "mask"
  const padding = `masks.padding_mask(lengths, ${LENGTH})${state.side === "left" ? ".flip(-1)" : ""}`
  const ahead = state.window ? `window_mask(${LENGTH}, window=${state.window})` : state.causal ? `masks.causal_mask(${LENGTH})` : ""
  const converted = {
    mask: "mask",
    sdpa: "masks.to_sdpa(mask)",
    attn_mask: "masks.to_attn_mask(mask.expand(2, 1, 6, 6), (2, 2, 6, 6))",
  }[state.convention] ?? `masks.to_${state.convention}(mask)`
  const refused = FOR_KEYS.includes(state.convention) && state.causal
  const fill = { "-inf": "-torch.inf", "-1e9": "-1e9", "finfo.min": "torch.finfo(scores.dtype).min" }[state.fill]
  const library = state.fill === "library" && !after
  const attempt = (lines, yes) => (yes ? ["try:", ...lines.map(line => `    ${line}`), "except ValueError as error:", "    print(error)"] : lines)
  return [
    "import torch",
    "",
    "from headwise import masks",
    ...(library ? ["from headwise.attention import attention"] : []),
    ...(state.window ? ["from headwise.windows import window_mask"] : []),
    "",
    `lengths = torch.tensor([${lengths(state).join(", ")}])`,
    `padding = ${padding}  # (2, 1, 1, 6)`,
    ahead ? `mask = masks.combine(padding, ${ahead})` : "mask = padding",
    ...attempt([`converted = ${converted}`], refused),
    "",
    "b, h, t, d = torch.meshgrid(*map(torch.arange, (2, 2, 6, 4)), indexing=\"ij\")",
    "Q = ((b + 2 * h + 3 * t + 5 * d) % 7 - 3) / 2",
    "K = ((3 * b + h + 5 * t + 2 * d + 1) % 7 - 3) / 2",
    "scores = Q @ K.transpose(-2, -1) / 4**0.5  # (2, 2, 6, 6)",
    ...(library && !forgets(state) ? ["filled = scores + masks.to_additive(mask)"] : []),
    ...(library ? attempt([`_, weights = attention(Q, K, K, ${mask})`], forgets(state))
      : after ? [`weights = torch.softmax(scores, dim=-1) * ${mask}`]
        : [`filled = scores.masked_fill(~${mask}, ${fill})`, "weights = torch.softmax(filled, dim=-1)"]),
    ...(library && forgets(state) ? [] : [`print(weights[${state.sentence - 1}, ${state.head - 1}])`]),
  ].join("\n")
}

const range = (min, max, value) => ({ kind: "range", min, max, value })
const choice = (...options) => ({ kind: "choice", options, value: options[0] })

export default {
  graphs: ["padding_mask", "left_padding_mask", "causal_mask", "window_mask", "combine", "to_additive", "to_attn_mask",
    "to_key_padding_mask", "to_attention_mask", "attention", "attention_masked", "fill_inf", "fill_1e9", "fill_min", "mask_after"],
  controls: {
    first: range(0, LENGTH, LENGTH),
    second: range(0, LENGTH, 4),
    side: choice("right", "left"),
    causal: { kind: "toggle", value: true },
    window: range(0, LENGTH, 0),
    convention: choice(...CONVENTIONS),
    fill: choice("library", ...Object.keys(FILLS)),
    when: choice("before", "after"),
    axis: choice("kept", "forgotten"),
    sentence: { ...choice("1", "2"), value: "2" },
    head: choice("1", "2"),
  },
  // A window is causal.
  fix: state => (state.window ? { ...state, causal: true } : state),
  compute, render, says, python,
  words: {
    zh: {
      title: "掩码试验台",
      first: "第 1 句的长度", second: "第 2 句的长度", side: "填充在", "side.right": "右边", "side.left": "左边",
      causal: "因果", window: "窗口（0 表示没有）", convention: "写成谁的约定",
      "convention.mask": "本站", "convention.sdpa": "SDPA", "convention.attn_mask": "nn.MHA attn_mask",
      "convention.key_padding_mask": "nn.MHA key_padding_mask", "convention.additive": "加性", "convention.attention_mask": "Hugging Face",
      fill: "填什么", "fill.library": "本站的函数", "fill.-inf": "−∞", "fill.-1e9": "−1e9", "fill.finfo.min": "finfo.min",
      when: "何时遮", "when.before": "softmax 之前", "when.after": "softmax 之后",
      axis: "掩码的头轴", "axis.kept": "有", "axis.forgotten": "忘了（批大小 = 头数）",
      sentence: "看第几句", head: "看第几个头",
      scores: "分数", filled: "填过的分数", weights: "权重", sum: "和",
      cannot: "这个约定没有查询轴，写不出因果掩码。换一种约定，或者关掉因果和窗口。",
      refused: "本站的函数不收三个轴的掩码：它会直接报错，不会拿错掩码。换一种填法，看别的代码会怎样。",
      says: ({ nan, blind, leak, lost, off }) => [
        nan ? `${nan} 行是 NaN。` : "",
        leak ? `${leak} 个本该遮住的键分到了权重。` : "本该遮住的键都没有分到权重。",
        lost && !nan ? `${lost} 个能看的键没有分到权重。` : "",
        blind ? `${blind} 个查询什么都看不到。` : "",
        off ? `${off} 行的和不是 1。` : nan ? "" : "每一行的和都是 1。"].join(""),
    },
    en: {
      title: "The mask bench",
      first: "Length of sentence 1", second: "Length of sentence 2", side: "Padding on the", "side.right": "right", "side.left": "left",
      causal: "Causal", window: "Window (0: none)", convention: "Written as in",
      "convention.mask": "this site", "convention.sdpa": "SDPA", "convention.attn_mask": "nn.MHA attn_mask",
      "convention.key_padding_mask": "nn.MHA key_padding_mask", "convention.additive": "additive", "convention.attention_mask": "Hugging Face",
      fill: "Filled with", "fill.library": "our function", "fill.-inf": "−∞", "fill.-1e9": "−1e9", "fill.finfo.min": "finfo.min",
      when: "Masked", "when.before": "before softmax", "when.after": "after softmax",
      axis: "The mask's head axis", "axis.kept": "there", "axis.forgotten": "forgotten (batch = heads)",
      sentence: "Show sentence", head: "Show head",
      scores: "Scores", filled: "Filled scores", weights: "Weights", sum: "sum",
      cannot: "This convention has no query axis, so it can't say “causal”. Choose another one, or turn causal and the window off.",
      refused: "Our functions don't take a mask with three axes: they raise an error rather than use the wrong mask. Fill with something else to see what other code does.",
      says: ({ nan, blind, leak, lost, off }) => [
        nan ? `${nan} rows are NaN. ` : "",
        leak ? `${leak} hidden keys get weight. ` : "No hidden key gets any weight. ",
        lost && !nan ? `${lost} visible keys get none. ` : "",
        blind ? `${blind} queries may see nothing. ` : "",
        off ? `${off} rows don't sum to 1.` : nan ? "" : "Every row sums to 1."].join(""),
    },
  },
}
