// Training and decoding, step by step: what each place is given, sees and has to answer.

import { h } from "./frame.js"
import { operators } from "./operators.js"
import { tensor } from "./tensor.js"
import { WORDS, likeliest, read, remembered } from "./translation.js"
import { shown } from "./views.js"

const EXAMPLES = { "二百三十五": "two hundred thirty five", "三百零五": "three hundred five", "一万五千": "fifteen thousand" }
const MOST = 6, BOS = 1, EOS = 2
const tokens = words => [BOS, ...words.split(" ").map(word => WORDS.indexOf(word)), EOS]
const isTraining = state => state.mode === "training"

// One pass of the decoder: what follows each place, and the weights of the chosen head.
function pass(graphs, given, state, causal) {
  const source = remembered(state.text, () => read(graphs, state.text))
  const [chances, ...own] = remembered(`${state.text} ${given} ${causal}`, () => graphs.translator_decode.run(
    { ...source, tgt: tensor([given], "int64"), causal: tensor([causal]) }).outputs)
  const row = (x, i) => operators["select.int"](x, 0, i)
  return { probabilities: row(chances, 0), weights: row(row(own[state.layer - 1], 0), state.head - 1) }
}

function compute(state, graphs) {
  if (isTraining(state)) {
    const target = tokens(EXAMPLES[state.text]), given = target.slice(0, -1)
    return { given, wanted: target.slice(1), ...pass(graphs, given, state, state.causal) }
  }
  // With a cache, a place is computed while it is the last: there is nothing later to see.
  const causal = state.causal || state.cache, given = [BOS], work = []
  let now
  do {
    if (now) given.push(answer(now))
    now = pass(graphs, given, state, causal)
    if (state.cache) for (const name of ["weights", "probabilities"]) now[name] = operators["slice.Tensor"](now[name], 0, -1)
    work.push(now.weights.shape[0])
  } while (work.length < state.step && answer(now) !== EOS)
  return { given, wanted: [...given.slice(1), answer(now)], work, ...now }
}
const answer = ({ probabilities }) => likeliest(probabilities.list().at(-1))

const names = list => list.map(token => WORDS[token])

// The place that is looked at: the chosen one, or the last one that was computed.
const place = (result, state) => (isTraining(state) ? Math.min(state.row, result.given.length) : result.given.length) - 1

function render(view, result, state, words, set) {
  const given = names(result.given), wanted = names(result.wanted), weights = result.weights.list(), chances = result.probabilities.list()
  const first = given.length - weights.length, at = place(result, state)
  const mark = (t, j) => [j > t && (state.causal || state.cache && !isTraining(state)) ? "hidden" : "", t === at && j <= t ? "seen" : "", isLeak(state, t, j) ? "leak" : ""].join(" ")
  const label = (word, t) => (isTraining(state) ? h("button", {
    type: "button", name: "decoding-row", "data-key": `row-${t + 1}`, lang: "en", "aria-pressed": String(t === at), onclick: () => set({ row: t === at ? 0 : t + 1 }),
  }, word) : h("span", { lang: "en" }, word))
  const row = (word, t) => {
    const numbers = weights[t - first], isNew = isTraining(state) || t === given.length - 1
    return h("tr", { class: t === at ? "lit" : "" }, h("th", { scope: "row" }, label(word, t)),
      given.map((_, j) => (numbers ? h("td", { class: mark(t, j), style: `--heat: ${numbers[j].toFixed(3)}` }, shown(numbers[j])) : h("td", { class: "kept" }))),
      h("td", { class: t === at ? "framed" : "", lang: "en" }, isNew || numbers ? wanted[t] : ""),
      h("td", { class: "sum" }, numbers ? shown(chances[t - first][result.wanted[t]]) : ""),
      h("td", { class: "sum" }, isTraining(state) ? "" : numbers ? (t === given.length - 1 ? words.computed : words.again) : words.skipped))
  }
  view.replaceChildren(
    h("div", {}, h("table", { class: "numbers shift" }, h("caption", {}, words.shift), h("tbody", {},
      h("tr", {}, h("th", { scope: "row" }, words.given), given.map((word, j) => h("td", { lang: "en", class: j <= at ? "seen" : at >= 0 && isLeak(state, at, j) ? "leak" : "" }, word))),
      h("tr", {}, h("th", { scope: "row" }, isTraining(state) ? words.wanted : words.writes), wanted.map((word, j) => h("td", { lang: "en", class: j === at ? "framed" : "" }, word)))))),
    h("div", {}, h("table", { class: "numbers" }, h("caption", {}, words.table),
      h("thead", {}, h("tr", {}, h("td", {}), given.map((word, j) => h("th", { scope: "col", lang: "en", class: j <= at ? "lit" : "" }, word)),
        h("th", { scope: "col" }, isTraining(state) ? words.wanted : words.writes), h("th", { scope: "col" }, words.chance), isTraining(state) ? null : h("th", { scope: "col" }, words.work))),
      h("tbody", {}, isTraining(state) ? null : h("tr", {}, h("th", { scope: "row" }, words.keys), given.map((_, j) => h("td", { class: j < first ? "kept" : "" }, j < first ? words.kept : words.computed)), h("td", {}), h("td", { class: "sum" }), h("td", { class: "sum" })),
        given.map(row)))),
    isTraining(state) ? h("div", { class: "whole" }) : h("div", { class: "whole" }, h("button", { type: "button", "data-key": "next", onclick: () => set({ step: isOver(result, state) ? 1 : state.step + 1 }) },
      isOver(result, state) ? words.restart : words.next)))
}
const isOver = (result, state) => result.wanted.at(-1) === EOS || state.step >= MOST

// A place that sees the next one sees its own answer.
const isLeak = (state, t, j) => isTraining(state) && !state.causal && j === t + 1

function says(result, state, words) {
  const t = place(result, state), chances = result.probabilities.list()
  if (isTraining(state)) {
    return words.training({
      count: result.given.length, row: t + 1, sees: names(result.given.slice(0, t + 1)).join(" "), wanted: WORDS[result.wanted[t]],
      chance: t < 0 ? "" : shown(chances[t][result.wanted[t]]), leaks: !state.causal && t < result.given.length - 1,
    })
  }
  const rows = result.weights.shape[0]
  return words.decoding({
    step: result.given.length, sees: names(result.given).join(" "), writes: WORDS[result.wanted.at(-1)], chance: shown(Math.max(...chances.at(-1))),
    rows, kept: result.given.length - rows, all: result.work.reduce((a, b) => a + b), isOver: result.wanted.at(-1) === EOS,
  })
}

function python(state) {
  const isFree = !state.causal && (isTraining(state) || !state.cache), chosen = `own[${state.layer - 1}][0, ${state.head - 1}]`
  const steps = state.cache ? ["        x = model.embed_tgt(given[:, step:], step)", "        x, own, _ = model.decoder(x, memory, need_weights=True, cache=cache)"]
    : ["        x = model.embed_tgt(given)", "        x, own, _ = model.decoder(x, memory, need_weights=True)"]
  return [
    "import torch", "", "from headwise.models import translator", "",
    "model = translator.load().half().float()  # rounded, as this page has them",
    ...(isFree ? ["", "", "def see_all(module, args, kwargs):", "    return args, kwargs | {\"is_causal\": False}", "", "",
      "for layer in model.decoder.layers:", "    layer.self_attention.register_forward_pre_hook(see_all, with_kwargs=True)", ""] : []),
    `src = translator.encode(["${state.text}"])`,
    ...(isTraining(state) ? [
      `tokens = translator.encode_words(["${EXAMPLES[state.text]}"])`,
      "given, wanted = tokens[:, :-1], tokens[:, 1:]  # shifted by one",
      "with torch.no_grad():",
      "    memory = model.encoder(model.embed_src(src))",
      "    x, own, _ = model.decoder(model.embed_tgt(given), memory, need_weights=True)",
      `weights = ${chosen}  # layer ${state.layer}, head ${state.head}`,
      "probabilities = model.W_vocab(x[0]).softmax(dim=-1)"] : [
      "given = torch.tensor([[translator.BOS]])",
      ...(state.cache ? ["cache = model.decoder.new_cache()"] : []),
      "with torch.no_grad():",
      "    memory = model.encoder(model.embed_src(src))",
      `    for step in range(${state.step}):`,
      "        if given[0, -1] == translator.EOS:",
      "            break",
      ...steps,
      `        weights = ${chosen}  # layer ${state.layer}, head ${state.head}`,
      "        probabilities = model.W_vocab(x[0]).softmax(dim=-1)",
      "        given = torch.cat((given, probabilities[-1:].argmax(dim=-1, keepdim=True)), dim=1)"]),
    "print(weights)",
    "print([translator.TGT_TOKENS[token] for token in probabilities.argmax(dim=-1)])",
  ].join("\n")
}

const choice = (...options) => ({ kind: "choice", options, value: options[0] })

export default {
  graphs: ["translator_encode", "translator_decode"],
  controls: {
    mode: choice("training", "decoding"),
    text: choice(...Object.keys(EXAMPLES)),
    step: { kind: "range", min: 1, max: MOST, value: 3 },
    cache: { kind: "toggle", value: false },
    causal: { kind: "toggle", value: true },
    layer: choice("1", "2"),
    head: choice("1", "2", "3", "4"),
    row: { kind: "range", min: 0, max: MOST - 1, value: 3, inside: true },
  },
  compute, render, says, python,
  words: {
    zh: {
      title: "训练和解码，一步一步看",
      mode: "在做什么", "mode.training": "训练", "mode.decoding": "解码", text: "原文", step: "解码到第几步", cache: "解码时用缓存", causal: "因果掩码", layer: "第几层", head: "第几个头",
      shift: "给的词和要答的词，错开一位", given: "给的", wanted: "要答的", writes: "写出的", table: "一行是一个位置；格子里是它对每个词的权重", chance: "概率", work: "这一步",
      keys: "键和值", computed: "新算", again: "重算", kept: "缓存", skipped: "不算", next: "下一步", restart: "从头再来",
      training: ({ count, row, sees, wanted, chance, leaks }) => `训练：${count} 个问题，一次前向计算全部答完。`
        + (row ? `第 ${row} 行看得见 ${sees}，要答的是 ${wanted}，模型给它的概率是 ${chance}。` : "")
        + (leaks ? (row ? `没有掩码，它还看得见后面的词，其中就有 ${wanted}：答案泄露了。` : "没有掩码，每一行都看得见自己的答案：答案泄露了。") : ""),
      decoding: ({ step, sees, writes, chance, rows, kept, all, isOver }) => `第 ${step} 步：给的是 ${sees}，写出 ${writes}（概率 ${chance}）。这一步算了 ${rows} 个位置，取自缓存的有 ${kept} 个；到现在一共算了 ${all} 个。` + (isOver ? "写完了。" : ""),
    },
    en: {
      title: "Training and decoding, step by step",
      mode: "Watch", "mode.training": "training", "mode.decoding": "decoding", text: "Source", step: "Decoding step", cache: "Decode with a cache", causal: "Causal mask", layer: "Layer", head: "Head",
      shift: "The words given and wanted, shifted by one", given: "given", wanted: "wanted", writes: "writes", table: "A row is a place; the cells are its weights on each word", chance: "P", work: "this step",
      keys: "K and V", computed: "computed", again: "again", kept: "kept", skipped: "not computed", next: "Next step", restart: "Start again",
      training: ({ count, row, sees, wanted, chance, leaks }) => `Training: one forward pass answers all ${count} questions. `
        + (row ? `Row ${row} sees ${sees} and has to answer “${wanted}”, to which the model gives probability ${chance}. ` : "")
        + (leaks ? (row ? `Without the mask it also sees the words after it, and “${wanted}” is one of them: the answer leaks.` : "Without the mask every row but the last sees its own answer: the answer leaks.") : ""),
      decoding: ({ step, sees, writes, chance, rows, kept, all, isOver }) => `Step ${step}: given ${sees}, it writes “${writes}” (probability ${chance}). Places computed in this step: ${rows}; taken from the cache: ${kept}; computed in all so far: ${all}. ` + (isOver ? "That's the end." : ""),
    },
  },
}
