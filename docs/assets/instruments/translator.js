// The translator: a Chinese numeral in English, word by word, and where the model looks meanwhile.

import { h } from "./frame.js"
import { CHARACTERS, LARGEST, MOST_WORDS, parse, remembered, translate } from "./translation.js"
import { shown } from "./views.js"

const MOST = 24, PARTS = ["e", "d", "s"], LAYERS = ["1", "2"], HEADS = ["1", "2", "3", "4"]
const ROWS = PARTS.flatMap(part => LAYERS.map(layer => part + layer))
const EXAMPLES = [235, 305, 15_000, 235_000, 10_000_020, 987_654_321]
const DIGITS = { 235: "二百三十五", 305: "三百零五", 15000: "一万五千", 235000: "二十三万五千", 10000020: "一千万零二十", 987654321: "九亿八千七百六十五万四千三百二十一" }
const grouped = n => n.toLocaleString("en-US")

const ALL = { hidden: [], off: [], positions: true, causal: true }
const switches = ({ hidden, off, positions, causal }, text) => ({ hidden: hidden.filter(i => i <= text.length), off, positions, causal })

function compute(state, graphs) {
  const read = parse(state.text)
  if (read.problem) return read
  const said = given => remembered(JSON.stringify([read.text, given]), () => translate(graphs, read.text, given))
  const { words, probabilities, source, means } = said(switches(state, read.text)), whole = said(ALL)
  const layer = state.layer - 1, weights = state.head === "all" ? means[layer] : part(source[layer], state.head - 1)
  return { ...read, words, whole: whole.words, probabilities, weights }
}
const part = (x, i) => x.view(x.shape.slice(1), x.strides.slice(1), x.offset + i * x.strides[0])

const problem = (read, words) => words[`problem.${read.problem}`](read)
const chosen = (set, one) => (set.includes(one) ? set.filter(other => other !== one) : [...set, one])
const isSame = (a, b) => a.join() === b.join()
const largest = row => row.indexOf(Math.max(...row))

function render(view, result, state, words, set) {
  const button = (key, given, text, act) => h("button", { type: "button", "data-key": key, onclick: act, ...given }, text)
  const type = text => set({ text, word: 0, written: MOST_WORDS })
  const keypad = h("div", { class: "keys", role: "group", "aria-label": words.keypad },
    CHARACTERS.map(one => button(`key-${one}`, { lang: "zh" }, one, () => type(state.text + one))),
    button("back", { "aria-label": words.back }, "⌫", () => type([...state.text].slice(0, -1).join(""))),
    button("clear", {}, words.clear, () => type("")))
  const examples = h("div", { class: "keys", role: "group", "aria-label": words.examples },
    EXAMPLES.map(n => button(`example-${n}`, {}, [h("span", { lang: "zh" }, DIGITS[n]), ` ${grouped(n)}`], () => type(DIGITS[n]))))
  view.replaceChildren(h("div", { class: "whole" }, keypad, examples), ...(result.problem
    ? [h("p", { class: "message" }, problem(result, words))]
    : [h("div", { class: "half" }, gaze(result, state, words, set, button)), h("div", { class: "half" }, heads(state, words, set, button))]))
}

// Characters on the left, words on the right, and a line from each word to each character.
function gaze(result, state, words, set, button) {
  const characters = [...result.text], rows = result.weights.list(), count = Math.min(state.written, result.words.length)
  const height = Math.max(characters.length, result.words.length), isOff = state.off.includes(`s${state.layer}${state.head}`)
  const chances = result.probabilities.list().map(row => Math.max(...row))
  const lines = result.words.slice(0, count).map((_, t) => h("g", { "data-word": t + 1, class: isOff ? "off" : "" }, rows[t].map((weight, i) => (weight < 0.02 ? null
    : h("path", { class: i === largest(rows[t]) ? "most" : "", d: `M0 ${i + 0.5} C50 ${i + 0.5} 50 ${t + 0.5} 100 ${t + 0.5}`, "stroke-width": (0.5 + 7 * weight).toFixed(2), "vector-effect": "non-scaling-stroke" })))))
  const looks = characters.map(() => h("span", { class: "look" }))
  const light = word => {
    lines.forEach((line, t) => line.classList.toggle("dim", word > 0 && word !== t + 1))
    looks.forEach((look, i) => { look.textContent = word > 0 && word <= count ? shown(rows[word - 1][i]) : "" })
  }
  const spot = t => ({ onpointerenter: () => light(t), onpointerleave: () => light(state.word), onfocus: () => light(t), onblur: () => light(state.word) })
  light(state.word)
  return [
    h("p", {}, h("span", { lang: "zh" }, result.text), ` = ${grouped(result.value)}`),
    h("div", { class: "gaze", style: `--rows: ${height}` },
      h("ol", { "aria-label": words.reads }, characters.map((one, i) => h("li", {}, looks[i], button(`hide-${i + 1}`, {
        name: "translator-hidden", lang: "zh", title: words.hide, "aria-pressed": String(state.hidden.includes(String(i + 1))),
      }, one, () => set({ hidden: chosen(state.hidden, String(i + 1)) }))))),
      h("svg", { viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" }, lines),
      h("ol", { "aria-label": words.writes }, result.words.slice(0, count).map((word, t) => h("li", {}, button(`word-${t + 1}`, {
        name: "translator-word", lang: "en", "aria-pressed": String(state.word === t + 1), class: result.whole[t] === word ? "" : "changed", ...spot(t + 1),
      }, word, () => set({ word: state.word === t + 1 ? 0 : t + 1 })), h("span", { class: "look" }, shown(chances[t])))))),
    button("play", {}, words.play, () => play(set, state, result.words.length)),
    isSame(result.words, result.whole) ? null : h("p", { class: "message" }, words.instead, h("span", { lang: "en" }, result.whole.join(" "))),
  ]
}

// Word after word; for those who want nothing to move, one word at a time.
let timer
function play(set, state, count) {
  clearTimeout(timer)
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    set({ written: state.written < count ? state.written + 1 : 1 })
    return
  }
  const write = t => {
    set({ written: t < count ? t : MOST_WORDS, word: t < count ? t : 0 })
    if (t < count) timer = setTimeout(write, 350, t + 1)
  }
  write(1)
}

// Which heads are on: a row for each attention of each layer.
function heads(state, words, set, button) {
  const all = row => HEADS.map(head => row + head), isAllOff = row => all(row).every(one => state.off.includes(one))
  return h("table", { class: "heads" }, h("caption", {}, words.heads), h("tbody", {}, ROWS.map(row => h("tr", {},
    h("th", { scope: "row" }, words[`row.${row[0]}`](row[1])),
    HEADS.map(head => h("td", {}, button(`head-${row}${head}`, {
      name: "translator-off", "aria-label": `${words[`row.${row[0]}`](row[1])}, ${words.theHead(head)}`, "aria-pressed": String(!state.off.includes(row + head)),
    }, head, () => set({ off: chosen(state.off, row + head) })))),
    h("td", {}, button(`head-${row}`, { "aria-label": `${words[`row.${row[0]}`](row[1])}, ${words.allFour}`, "aria-pressed": String(!isAllOff(row)) }, words.allFour,
      () => set({ off: isAllOff(row) ? state.off.filter(one => !one.startsWith(row)) : [...state.off, ...all(row)] })))))))
}

function says(result, state, words) {
  if (result.problem) return problem(result, words)
  const count = Math.min(state.written, result.words.length), t = Math.min(state.word, count)
  const row = t ? result.weights.list()[t - 1] : [], most = largest(row)
  return words.says({
    value: grouped(result.value), written: result.words.slice(0, count).join(" "), whole: isSame(result.words, result.whole) ? "" : result.whole.join(" "),
    word: t ? result.words[t - 1] : "", chance: t ? shown(Math.max(...result.probabilities.list()[t - 1])) : "",
    character: [...result.text][most], weight: shown(row[most]), isOff: state.off.includes(`s${state.layer}${state.head}`),
  })
}

function python(state) {
  const { text, problem } = parse(state.text)
  const begin = ["import torch", "", "from headwise.models import translator", ""]
  if (problem) return [...begin.slice(2), "try:", `    print(translator.translate([${JSON.stringify(state.text)}]))`, "except ValueError as error:", "    print(error)"].join("\n")
  const { hidden, off, positions, causal } = switches(state, text), layer = state.layer - 1
  const places = { e: "encoder.layers[$].attention", d: "decoder.layers[$].self_attention", s: "decoder.layers[$].cross_attention" }
  const gone = row => HEADS.filter(head => off.includes(row + head)).map(head => head - 1).join(", ")
  const seen = state.head !== "all" ? `weights = torch.stack(rows, dim=1)[${state.head - 1}]` : gone(`s${state.layer}`)
    ? `on = torch.tensor([head not in [${gone(`s${state.layer}`)}] for head in range(4)])\nweights = (torch.stack(rows, dim=1) * on[:, None, None]).mean(dim=0)`
    : "weights = torch.stack(rows, dim=1).mean(dim=0)"
  return [
    ...begin,
    "model = translator.load().half().float()  # rounded, as this page has them",
    ...(off.length ? [
      "", "",
      "def switch_off(attention, heads):",
      "    on = torch.ones(4, 16)",
      "    on[heads] = 0",
      "    attention.W_o.register_forward_pre_hook(lambda module, args: (args[0] * on.flatten(),))",
      "", "",
      ...ROWS.filter(gone).map(row => `switch_off(model.${places[row[0]].replace("$", row[1] - 1)}, [${gone(row)}])`)] : []),
    ...(positions ? [] : ["for positions in (model.src_positions, model.tgt_positions):", "    positions.register_forward_hook(lambda module, args, out: args[0])"]),
    ...(causal ? [] : [
      "", "",
      "def see_all(module, args, kwargs):",
      "    return args, kwargs | {\"is_causal\": False}",
      "", "",
      "for one in model.decoder.layers:",
      "    one.self_attention.register_forward_pre_hook(see_all, with_kwargs=True)"]),
    "",
    `src = translator.encode(["${text}"])`,
    `shown = model.visible(src)  # (1, 1, 1, ${text.length})`,
    ...(hidden.length ? [`shown[..., [${hidden.map(i => i - 1).join(", ")}]] = False`] : []),
    "tgt = torch.tensor([[translator.BOS]])",
    "rows, chances = [], []",
    "with torch.no_grad():",
    "    memory = model.encoder(model.embed_src(src), shown)",
    "    while tgt.size(1) <= translator.MAX_WORDS and tgt[0, -1] not in (translator.EOS, translator.PAD):",
    "        x, _, seen = model.decoder(model.embed_tgt(tgt), memory, None, shown, need_weights=True)",
    `        rows.append(seen[${layer}][0, :, -1])  # (4, ${text.length}), of layer ${state.layer}`,
    "        chances.append(model.W_vocab(x[0, -1]).softmax(dim=-1))",
    "        tgt = torch.cat((tgt, chances[-1].argmax().view(1, 1)), dim=1)",
    seen,
    "probabilities = torch.stack(chances)",
    "print(*(translator.TGT_TOKENS[token] for token in tgt[0, 1:]))",
  ].join("\n")
}

export default {
  graphs: ["translator_encode", "translator_decode"],
  controls: {
    text: { kind: "text", most: MOST, value: DIGITS[235] },
    layer: { kind: "choice", options: LAYERS, value: "2" },
    head: { kind: "choice", options: ["all", ...HEADS], value: "all" },
    written: { kind: "range", min: 0, max: MOST_WORDS, value: MOST_WORDS },
    positions: { kind: "toggle", value: true },
    causal: { kind: "toggle", value: true },
    word: { kind: "range", min: 0, max: MOST_WORDS, value: 0, inside: true },
    hidden: { kind: "set", options: Array.from({ length: 17 }, (_, i) => String(i + 1)), value: [], inside: true },
    off: { kind: "set", options: ROWS.flatMap(row => HEADS.map(head => row + head)), value: [], inside: true },
  },
  compute, render, says, python,
  words: {
    zh: {
      title: "翻译器",
      text: "数字（汉字或阿拉伯数字）", layer: "看第几层", head: "看第几个头", "head.all": "四个头的平均", written: "最多写几个词", positions: "位置编码", causal: "因果掩码",
      keypad: "按键", back: "删去最后一个字", clear: "清空", examples: "例子", reads: "读进的字，按一下就遮住", writes: "写出的词，按一下只看它的线", hide: "遮住或露出",
      play: "逐词写一遍", instead: "什么都不关的话，写的是：", heads: "开着的头（按一下关掉）",
      "row.e": layer => `编码器第 ${layer} 层`, "row.d": layer => `解码器第 ${layer} 层，看已写的词`, "row.s": layer => `解码器第 ${layer} 层，看原文`,
      theHead: head => `第 ${head} 个头`, allFour: "全部",
      "problem.empty": () => "输入一个数，用键盘、按键或例子都行。",
      "problem.letter": ({ about }) => `“${about}”不是数字用字。能用的只有：${CHARACTERS.join("")}和“两”，或者只用阿拉伯数字。`,
      "problem.two": () => "“两”只能放在百、千、万、亿前面；这里请写“二”。",
      "problem.order": () => "这不是一个数：数字在前，单位在后，单位从大到小，比如三千零二十万五千。",
      "problem.large": ({ value }) => `${grouped(value)} 太大了，模型只学过 ${grouped(LARGEST)} 以内的数。`,
      "problem.spelling": ({ about, value }) => `如果想写 ${grouped(value)}，请写成“${about}”。`,
      says: ({ value, written, whole, word, chance, character, weight, isOff }) => `${value}：${written}。`
        + (whole ? `关掉了一些东西，结果变了；原来是 ${whole}。` : "")
        + (word ? `写 ${word} 时（概率 ${chance}），它看得最多的是“${character}”（${weight}）。` : "")
        + (isOff ? "这个头关着：它看到的传不出去。" : ""),
    },
    en: {
      title: "The translator",
      text: "A number, in Chinese or in digits", layer: "Show layer", head: "Show head", "head.all": "mean of all", written: "Words, at most", positions: "Positions", causal: "Causal mask",
      keypad: "Keypad", back: "Delete the last character", clear: "Clear", examples: "Examples", reads: "What it reads; press a character to hide it", writes: "What it writes; press a word to see its lines alone", hide: "Hide or show",
      play: "Write it word by word", instead: "With everything on, it writes: ", heads: "Heads that are on (press one to switch it off)",
      "row.e": layer => `Encoder, layer ${layer}`, "row.d": layer => `Decoder, layer ${layer}, at its words`, "row.s": layer => `Decoder, layer ${layer}, at the source`,
      theHead: head => `head ${head}`, allFour: "all",
      "problem.empty": () => "Enter a number: type it, use the keypad, or pick an example.",
      "problem.letter": ({ about }) => `“${about}” isn't part of a Chinese numeral. You can use ${CHARACTERS.join("")} and 两, or digits alone.`,
      "problem.two": () => "两 only goes before 百, 千, 万 and 亿; write 二 here.",
      "problem.order": () => "That isn't a number: each digit goes before its unit, and the units get smaller, as in 三千零二十万五千.",
      "problem.large": ({ value }) => `${grouped(value)} is too large: the model has only learned numbers up to ${grouped(LARGEST)}.`,
      "problem.spelling": ({ about, value }) => `If you mean ${grouped(value)}, write ${about}.`,
      says: ({ value, written, whole, word, chance, character, weight, isOff }) => `${value}: ${written}. `
        + (whole ? `With what you switched off, that has changed; it was: ${whole}. ` : "")
        + (word ? `When it writes “${word}” (probability ${chance}), it looks most at ${character} (${weight}). ` : "")
        + (isOff ? "This head is off: what it sees goes nowhere." : ""),
    },
  },
}
