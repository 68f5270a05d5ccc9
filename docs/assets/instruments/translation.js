// What the translator reads and writes, as src/headwise/models has it: numerals.py, translator.py.

import { operators } from "./operators.js"
import { tensor } from "./tensor.js"

const DIGITS = [..."零一二三四五六七八九"], UNITS = ["", "十", "百", "千"], GROUPS = ["", "万", "亿"]
export const CHARACTERS = [...DIGITS, "十", "百", "千", "万", "亿"]
export const WORDS = ["<pad>", "<bos>", "<eos>",
  ..."zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(" "),
  ..."twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million".split(" ")]
export const LARGEST = 999_999_999, MOST_WORDS = 15
const [PAD, BOS, EOS] = [0, 1, 2]

// numerals.to_chinese; on request with the 零 that one may leave out.
export function spell(n, everyZero = false) {
  let text = "", before
  for (let place = String(n).length - 1; place >= 0; place--) {
    const digit = Math.floor(n / 10 ** place) % 10, group = Math.floor(place / 4), unit = place % 4
    if (digit) {
      const endsGroup = unit === 3 && Math.floor(before / 4) === group + 1
      if (before - place > 1 && (everyZero || !endsGroup)) text += "零"
      text += (!text && unit === 1 && digit === 1 ? "" : DIGITS[digit]) + UNITS[unit]
      before = place
    }
    if (unit === 0 && Math.floor(before / 4) === group) text += GROUPS[group]
  }
  return text || "零"
}

// numerals.parse_chinese, and digits besides: { text, value }, or { problem } and what it is about.
const D = DIGITS.slice(1).join("")
const GROUP = `((?:[${D}]千)?(?:[${D}]百)?(?:[${D}]?十)?[${D}]?)`
const NUMERAL = new RegExp(`^(?:${GROUP}亿)?(?:${GROUP}万)?${GROUP}$`)
export function parse(given) {
  const text = given.normalize("NFKC").trim().replaceAll("〇", "零")
  if (!text) return { problem: "empty" }
  if (/^\d[\d,]*$/.test(text)) {
    const value = BigInt(text.replaceAll(",", ""))  // to say of a large one what it is, to the last digit
    return sized(value > LARGEST ? value : Number(value))
  }
  const strange = [...text].filter(one => !CHARACTERS.includes(one) && one !== "两")
  if (strange.length) return { problem: "letter", about: strange.find(one => !/\d/.test(one)) ?? strange[0] }
  let spelled = text.replace(/两(?=[百千])|^两(?=[万亿])|(?<=亿)两(?=万)|(?<=亿零)两(?=万)/g, "二")
  if (spelled.includes("两")) return { problem: "two" }
  spelled = spelled.replace(/^一十/, "十")
  const parts = spelled.replaceAll("零", "").match(NUMERAL)
  if (!parts || parts[1] === "" || parts[2] === "") return { problem: "order" }
  const value = parts.slice(1).reduce((n, part = "") => [...part.matchAll(/([^十百千]?)([十百千]?)/g)].reduce(
    (sum, [both, digit, unit]) => sum + (both ? DIGITS.indexOf(digit || "一") * 10 ** UNITS.indexOf(unit) : 0), n * 10_000), 0)
  const found = sized(value)
  return found.problem || [found.text, spell(value, true)].includes(spelled) ? found : { problem: "spelling", about: found.text, value }
}
const sized = value => (value > LARGEST ? { problem: "large", value } : { text: spell(value), value })

// What was made for a key, made once, however long one looks at it.
const known = new Map()
export function remembered(key, make) {
  if (known.size > 100) known.clear()
  if (!known.has(key)) known.set(key, make())
  return known.get(key)
}

// The model's words for a numeral, one after another, and at each of them what it had computed:
// the probabilities of all words, and its weights on the source; of each layer, and their means.
// Switches: hidden characters, from "1"; heads that are off, such as "e12", layer 1 and head 2 of
// the encoder (d: the decoder at its own words, s: at the source); positions and causal mask.
export function translate(graphs, text, switches) {
  const given = read(graphs, text, switches), tokens = [BOS], steps = []
  while (tokens.length <= MOST_WORDS && ![PAD, EOS].includes(tokens.at(-1))) {
    const { outputs } = graphs.translator_decode.run({ tgt: tensor([tokens], "int64"), ...given })
    const [chances, , , ...seen] = outputs, now = [chances, ...seen].map(x => last(operators["select.int"](x, 0, 0)))
    steps.push(now)
    tokens.push(likeliest(now[0].list()))
  }
  const [probabilities, first, second, ...means] = steps[0].map((x, i) => operators["stack.default"](steps.map(step => step[i]), x.shape.length - 1))
  return { words: tokens.slice(1).map(token => WORDS[token]), probabilities, source: [first, second], means }
}
// The row of the last word: rows are the last axis but one.
const last = x => operators["select.int"](x, x.shape.length - 2, -1)
export const likeliest = row => row.indexOf(Math.max(...row))

// What the decoder gets, the words aside: the memory of a numeral, and what is on.
export function read(graphs, text, { hidden = [], off = [], positions = true, causal = true } = {}) {
  const on = part => tensor([1, 2].map(layer => [1, 2, 3, 4].map(head => !off.includes(`${part}${layer}${head}`))))
  const src = tensor([[...text].map(one => CHARACTERS.indexOf(one) + 1)], "int64")
  const given = { shown: tensor([[...text].map((_, i) => !hidden.includes(String(i + 1)))]), positions: tensor([positions]) }
  const [memory] = graphs.translator_encode.run({ src, heads: on("e"), ...given }).outputs
  return { ...given, memory, own_heads: on("d"), source_heads: on("s"), causal: tensor([causal]) }
}
