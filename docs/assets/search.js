// Search: a worker that the theme's search box asks in place of its own. The theme's cuts a Chinese
// query by a list of words and never looks at its last character, so that 编码器 (encoder) finds
// 编码 (encoding). Here a Chinese word is its pairs of neighbouring characters, in the pages and in
// the query alike; sections are ranked by how rare the words are that they share with the query.

const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3 // the messages of the theme

// What a word counts for in a heading, in other words for a section, in what links to it say, in the
// title of its page, in its text and in its code; and how soon it counts no more for coming again.
const FIELDS = { title: 5, words: 4, said: 3, page: 3, text: 1.5, code: 1 }
const SATED = { title: 0.3, words: 0.3, said: 1, page: 0.3, text: 2, code: 3 }
const FEWEST = 5, SHOWN = 30, SNIPPET = 110

// What makes a question of words, and says nothing of what it is about; longer ones come first.
const ASKING = new RegExp(`
  起什么作用 什么作用 有什么用 为什么要 可不可以 需不需要 是怎么来 怎么回事 怎么样 怎么办 为什么 是什么 什么是
  有啥用 干什么 做什么 是不是 能不能 有没有 要不要 会不会 行不行 哪几个 会怎样 看不懂 怎么 怎样 如何 为啥 为何
  什么 干嘛 可以 需要 哪里 哪个 哪些 哪种 多少 请问 到底 究竟 应该 必须 一定 时候 意思 还是 或者 一下 以及 之后
  之前 问题 能否 是否 只能 不能 真的 其实 通常 一般 详解 讲解 原理 本质 机制 含义 用法 里面 进行 得到
`.trim().split(/\s+/).join("|"), "g")
const PARTICLES = new Set(
  "的了吗呢吧啊嘛是在有和与跟及或要会能就都也还我你它他这那哪个些么什怎为把被用从到里中来去着地不没",
)
const SMALL = new Set(`
  a about actually after again all also always am an and any anything apply are as at be because
  been before being best better between both but by can cannot come comes could did do does doing
  don done each either else ever every everything exactly for from get gets getting give gives go
  goes going good got had happen happens has have having help here how i if in instead into is isn
  it its just keep know let like made make makes many matter matters may me mean meaning means
  might much must my need needed needs never no not of off on one only or other our out over please
  possible put really represent represents s should so some something still t tell than that the
  their them then there these they thing things this those to too try trying up us use used useful
  uses using very want wants was way we were what whats when where whether which while who why will
  with without work working works would wrong you your
`.trim().split(/\s+/))

const HAN = /\p{Script=Han}/u
const UNITS = /\p{Script=Han}|[√∞]|\d+\.\d+|(?:(?!\p{Script=Han})[\p{L}\p{N}_])+/gu

const tidy = text => text.normalize("NFKC").replace(/−/g, "-").replace(/['’](?=[a-z]\b)/g, " ")
  .replace(/(?<![\p{L}\p{N}_])_(?![\p{L}\p{N}_])/gu, " underscore ")
const isHan = unit => HAN.test(unit)

/** The stem of an English word: no plural, no -ing, -ed or -ise; -er stays, in encoder. */
function stem(word) {
  if (!/^[a-z]{4,}$/.test(word)) return word === "has" ? word : word.replace(/^([a-z]{2,})s$/, "$1")
  return word
    .replace(/ies$/, "y")
    .replace(/(ch|sh|x|ss)es$/, "$1")
    .replace(/([^sui])s$/, "$1")
    .replace(/(\w{3,}?)(ing|ed|ly)$/, "$1")
    .replace(/(\w{4,})i[sz](er?|ation)?$/, "$1")
    .replace(/(\w{3,})at(e|ion|or)?$/, "$1")
    .replace(/(\w{3,}[st])ion(al)?$/, "$1")
    .replace(/(\w{4,})(able|ment|ity)$/, "$1")
    .replace(/(\w\w)([bdgklmnprt])\2$/, "$1$2")
    .replace(/(\w{3,})e$/, "$1")
}

/** The parts of a name in code: masked_fill, DotProductAttention. */
function partsOf(name) {
  const parts = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3_$2$4").split("_")
  const long = parts.filter(part => part.length > 1)
  return parts.length > 1 ? long.map(part => part.toLowerCase()) : []
}

const kept = new Map()

/** The terms of an English word, or of a name in code: itself, its stem, the stems of its parts. */
function termsOfUnit(unit) {
  if (!kept.has(unit)) {
    const word = wordOf(unit)
    kept.set(unit, [...new Set([`=${word}`, stem(word), ...partsOf(unit).map(stem)])])
  }
  return kept.get(unit)
}

/** The terms of a text: those of its words, its Chinese characters, and pairs of these. */
function termsOf(text) {
  const terms = []
  let before = "", end = 0
  for (const { 0: unit, index } of tidy(text).matchAll(UNITS)) {
    if (isHan(unit)) {
      terms.push(unit)
      if (before && end === index) terms.push(before + unit)
    } else {
      terms.push(...termsOfUnit(unit))
    }
    before = isHan(unit) ? unit : ""
    end = index + unit.length
  }
  return terms
}

/** What is looked up for these words: stems, and pairs of Chinese characters. */
function lookedUp(words) {
  const isAlone = i => ![words[i - 1], words[i + 1]].some(word => word && isHan(word))
  return words.flatMap((word, i) => {
    if (!isHan(word) || isAlone(i)) return [stem(word)]
    return i && isHan(words[i - 1]) ? [words[i - 1] + word] : []
  })
}

const wordOf = unit => unit.toLowerCase().replaceAll("_", "")
const wordsOf = text => (tidy(text).match(UNITS) ?? []).map(wordOf)
const keyOf = words => words.map(stem).join(" ")
const hasParticle = text => [...text].some(unit => PARTICLES.has(unit))

class Index {
  constructor({ config, docs }) {
    this.docs = docs
    this.terms = new Map()
    this.pages = new Map()
    for (const [id, doc] of docs.entries()) {
      const path = doc.location.split("#")[0]
      if (!this.pages.has(path)) this.pages.set(path, doc)
      const page = this.pages.get(path)
      const title = page === doc ? "" : page.title
      for (const name of Object.keys(FIELDS)) {
        const text = name === "page" ? title : doc[name]
        if (text) this.#count(id, name, text)
      }
    }
    this.same = new Map()
    this.vague = new Set()
    for (const group of [...config.same, ...config.vague]) {
      const words = group.map(wordsOf)
      for (const key of words.map(keyOf)) this.same.set(key, [...this.same.get(key) ?? [], ...words])
    }
    for (const word of config.vague.flat()) this.vague.add(keyOf(wordsOf(word)))
    this.longest = Math.max(...[...this.same.keys()].map(key => key.split(" ").length))
  }

  #count(id, name, text) {
    const counts = new Map()
    for (const term of termsOf(text)) counts.set(term, (counts.get(term) ?? 0) + 1)
    for (const [term, count] of counts) {
      if (!this.terms.has(term)) this.terms.set(term, new Map())
      const found = this.terms.get(term)
      found.set(id, (found.get(id) ?? 0) + FIELDS[name] * count / (count + SATED[name]))
    }
  }

  /** How strongly each section speaks of a thing that can be said in these ways, and how rare it is. */
  #strength(ways) {
    const strength = new Map()
    let rarest = Infinity // no other way counts for more than the word that was typed
    for (const [terms, weight] of ways) {
      const all = new Set(terms), sums = new Map()
      for (const term of all) {
        for (const [id, value] of this.terms.get(term) ?? []) {
          const [sum, count] = sums.get(id) ?? [0, 0]
          sums.set(id, [sum + value, count + 1])
        }
      }
      const whole = [...sums.values()].filter(([, count]) => count === all.size).length
      const rarity = Math.min(rarest, Math.log(this.docs.length / (whole || sums.size || 1) + 1))
      if (whole && rarest === Infinity) rarest = rarity
      for (const [id, [sum, count]] of sums) {
        const value = weight * rarity * sum / all.size * (count / all.size) ** 2
        if (value > (strength.get(id) ?? 0)) strength.set(id, value)
      }
    }
    return { strength, rarity: Math.min(rarest, Math.log(this.docs.length)) }
  }

  /** The ways to say a word, or several words that belong together: terms, and how near they are. */
  #ways(words, isLast) {
    const others = this.same.get(keyOf(words)) ?? []
    const ways = [[lookedUp(words), 0.9], ...others.map(other => [lookedUp(other), 0.7])]
    if (words.length > 1 || isHan(words[0])) return ways
    const [word] = words
    ways.push([[`=${word}`], 1])
    const isKnown = this.terms.has(`=${word}`) || this.terms.has(stem(word))
    if (isLast && word.length > 1) { // it may still be being typed
      const longer = [...this.terms.keys()].filter(term => term.startsWith(`=${word}`))
      ways.push(...longer.map(term => [[term], isKnown ? 0.4 : 0.8]))
    }
    return isKnown ? ways : [...ways, ...this.#guesses(word)]
  }

  /** What a word that no page holds may be: two words without the space, or a slip. */
  #guesses(word) {
    for (let cut = 2; cut < word.length - 1; cut++) {
      const halves = [word.slice(0, cut), word.slice(cut)]
      if (halves.every(half => this.terms.has(`=${half}`))) return [[halves.map(stem), 0.8]]
    }
    if (word.length < 4) return []
    const near = [...this.terms.keys()].filter(term => term[0] === "=" && isNear(term.slice(1), word))
    return near.map(term => [[term], 0.8])
  }

  /** What a query is about: things, each with the ways to say it and with what it counts for. */
  #things(query) {
    const bare = tidy(query).replace(ASKING, " ")
    const units = []
    for (const { 0: unit, index } of (bare.match(UNITS) ? bare : tidy(query)).matchAll(UNITS)) {
      const word = wordOf(unit), before = units.at(-1)
      const isGlued = isHan(unit) && before?.end === index && isHan(before.word)
      if (word) units.push({ word, parts: partsOf(unit), isGlued, end: index + unit.length })
    }
    const things = [], free = new Set(), sizes = this.#cut(units)
    for (let i = 0, size; i < units.length; i += size) {
      const word = units[i].word, next = units[i + 1]?.word
      size = sizes[i]
      const words = units.slice(i, i + Math.max(size, 1)).map(unit => unit.word)
      if (size < 2 && next && !SMALL.has(word) && !isHan(word + next) && this.terms.has(`=${word + next}`)) {
        things.push({ ways: this.#ways([word + next], i + 2 === units.length), weight: 0.5 }) // soft max
      }
      if (!size && isHan(word)) {
        size = 1
        free.add(i)
      } else {
        size ||= 1
        const ways = this.#ways(words, i + size === units.length)
        const isKnown = this.terms.has(`=${word}`)
        if (size === 1 && units[i].parts.length) ways.push([units[i].parts.map(stem), isKnown ? 0.3 : 0.6])
        things.push({ ways, weight: this.#weight(words) })
      }
    }
    // Characters that belong to no known word count in pairs, also with the word beside them.
    for (const [i, { word, isGlued }] of units.entries()) {
      const inside = free.has(i) + free.has(i - 1)
      if (!isGlued || !inside) continue
      const pair = units[i - 1].word + word
      things.push({ ways: [[[pair], 1]], weight: hasParticle(pair) ? 0.08 : inside / 2, isLoose: true })
    }
    // One of them alone is a word too, if the glossary has it: 头, head.
    for (const i of free) {
      const ways = this.#ways([units[i].word], false), isAll = units.length === 1
      if (isAll || ways.length > 1) things.push({ ways, weight: isAll ? 1 : 0.4, isLoose: true })
    }
    return things
  }

  /** How many units from each on are one word that has others of its meaning, 0 if none: cut so that
   * the words are long. 句子长度不一样 (sentences differ in length) is 句子 and 长度不一样. */
  #cut(units) {
    const sizes = [], worth = Array(units.length + 1).fill(0)
    for (let i = units.length - 1; i >= 0; i--) {
      sizes[i] = 0
      worth[i] = worth[i + 1]
      for (let size = 1; size <= Math.min(this.longest, units.length - i); size++) {
        const words = units.slice(i, i + size).map(unit => unit.word)
        const isWord = (size > 1 || !isHan(words[0])) && this.same.has(keyOf(words))
        if (isWord && size ** 2 + worth[i + size] >= worth[i]) {
          sizes[i] = size
          worth[i] = size ** 2 + worth[i + size]
        }
      }
    }
    return sizes
  }

  #weight(words) {
    if (this.vague.has(keyOf(words))) return 0.4
    if (words.length > 1) return Math.sqrt(isHan(words[0]) ? words.length / 2 : words.length)
    if (SMALL.has(words[0])) return 0.08
    return words[0].length === 1 || /^(\d+|two|three|four)$/.test(words[0]) ? 0.6 : 1 // a letter, a number
  }

  /** How far the query and the heading, or another name of a section, say the same: at best, 1. */
  #alike(doc, asked, total) {
    doc.names ??= [doc.title, ...(doc.words ?? "").split(", ")]
      .map(name => {
        const terms = new Set(termsOf(name.replace(ASKING, " ")).filter(isWhole))
        const telling = new Set([...terms].filter(isTelling))
        return [telling, telling.size + 0.25 * (terms.size - telling.size)]
      })
      .filter(([name]) => name.size)
    let alike = 0
    for (const [name, size] of doc.names) {
      const found = new Set()
      let answered = 0
      for (const { ways, worth } of asked) {
        const whole = ways.filter(terms => terms.every(term => name.has(term)))
        if (whole.length) answered += worth
        for (const term of whole.flat()) found.add(term)
      }
      alike = Math.max(alike, found.size / size * answered / total)
    }
    return alike
  }

  search(query) {
    const scores = new Map(), asked = [], toShow = new Set()
    let total = 0
    for (const { ways, weight, isLoose } of this.#things(query)) {
      const { strength, rarity } = this.#strength(ways)
      for (const [terms] of ways) {
        for (const term of toMark(terms)) toShow.add(term)
      }
      if (!strength.size && isLoose) continue
      total += weight * rarity
      const stems = ways.map(([terms]) => terms).filter(([term]) => term[0] !== "=")
      asked.push({ ways: stems, worth: weight * rarity })
      for (const [id, value] of strength) {
        const [score, cover] = scores.get(id) ?? [0, 0]
        scores.set(id, [score + weight * value, cover + weight * Math.min(rarity, value)])
      }
    }
    const best = ([, a], [, b]) => b - a
    const likely = [...scores].map(([id, [score, cover]]) => {
      const doc = this.docs[id]
      return [doc, score * (0.1 + (cover / total) ** 2) * (doc.boost ?? 1)]
    }).sort(best).slice(0, 3 * SHOWN)
    const ranked = likely
      .map(([doc, score]) => [doc, score * (1 + 4 * this.#alike(doc, asked, total))])
      .sort(best).slice(0, SHOWN)
    return ranked.filter(([, score], i) => i < FEWEST || score > ranked[0][1] / 20)
      .map(([doc, score]) => [this.#shown(doc, score, toShow)])
  }

  /** A section as the theme shows it: the words found are marked, and its page is named. */
  #shown(doc, score, wanted) {
    const page = this.pages.get(doc.location.split("#")[0])
    const [title, text] = [marked(doc.title, wanted), marked(doc.text, wanted)]
    const words = new Set([...title.words, ...text.words])
    return {
      location: doc.location,
      title: `${title.html}<span class="found">${text.snippet}</span>`,
      text: "",
      tags: page === doc ? undefined : [escaped(page.title)],
      score,
      terms: Object.fromEntries([...words].slice(0, 8).map(word => [word, true])),
    }
  }
}

/** Whether a term is a stem or a pair of characters. */
const isWhole = term => term[0] !== "=" && (term.length > 1 || !isHan(term))

/** Whether a term says something about a heading: no single character, no small word. */
function isTelling(term) {
  if (term[0] === "=") return !SMALL.has(term.slice(1))
  if (isHan(term)) return term.length > 1 && !hasParticle(term)
  return !SMALL.has(term)
}

/** Whether two words differ by a slip: a letter more, less or other, or two swapped. */
function isNear(a, b) {
  if (Math.abs(a.length - b.length) > 1 || a[0] !== b[0]) return false
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  const [x, y] = [a.slice(i), b.slice(i)]
  const swapped = x[0] === y[1] && x[1] === y[0] && x.slice(2) === y.slice(2)
  return x.slice(1) === y || x === y.slice(1) || x.slice(1) === y.slice(1) || swapped
}

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" }
const escaped = text => text.replace(/[&<>]/g, sign => ESCAPES[sign])

/** What to mark for these terms: stems, and Chinese words, whose pairs of characters are joined. */
function toMark(terms) {
  const isPair = term => term.length === 2 && isHan(term)
  if (!terms.every(isPair)) return terms.filter(isTelling)
  return [terms[0][0] + terms.map(term => term[1]).join("")]
}

/** A text with the words found in it marked, its part around them, and those words themselves. */
function marked(text, wanted) {
  const isFound = new Uint8Array(text.length)
  const mark = (word, at) => isFound.fill(1, at, at + word.length)
  for (const word of wanted) {
    if (!isHan(word) || word.length === 2 && hasParticle(word)) continue
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) mark(word, at)
  }
  for (const { 0: unit, index } of text.matchAll(UNITS)) {
    if (!isHan(unit) && termsOfUnit(unit).some(term => wanted.has(term))) mark(unit, index)
  }
  const ranges = []
  for (let i = 0; i < text.length; i++) {
    if (isFound[i] && !isFound[i - 1]) ranges.push([i, i])
    if (isFound[i]) ranges.at(-1)[1] = i + 1
  }
  const inside = (from, to) => {
    let html = "", at = from
    for (const [start, end] of ranges.filter(([start, end]) => start >= from && end <= to)) {
      html += `${escaped(text.slice(at, start))}<mark>${escaped(text.slice(start, end))}</mark>`
      at = end
    }
    return html + escaped(text.slice(at, to))
  }
  // The part in which most is found, from a little before the first of it.
  const length = isHan(text) ? SNIPPET : 2 * SNIPPET
  const near = start => ranges.filter(([at]) => at >= start && at < start + length - 20).length
  const first = ranges[0]?.[0] ?? 0
  const best = ranges.reduce((best, [start]) => near(start) > near(best) ? start : best, first)
  const from = best < 40 ? 0 : text.slice(best - 30, best).search(/[\s，。；：]\S*$/) + 1 + best - 30
  const to = Math.min(text.length, from + length)
  const snippet = (from ? "… " : "") + inside(from, to) + (to < text.length ? "…" : "")
  const words = ranges.map(range => text.slice(...range).toLowerCase())
  return { html: inside(0, text.length), snippet, words }
}

// The sections are fetched at the first question: most pages are read without one. The theme asks for
// nothing at all, too, when a page has loaded.
let setup, index
const load = () => fetch(new URL(setup.sections, location))
  .then(answer => answer.ok ? answer.json() : Promise.reject(answer.status))
  .then(sections => new Index(sections))

const LOST = { zh: "搜索没有加载成功，请再试一次。", en: "The search didn't load; please try again." }
const sorry = () => [[{ location: "", title: LOST[setup.language], text: "", score: 1, terms: {} }]]

addEventListener("message", async ({ data: { type, data } }) => {
  if (type === SETUP) {
    setup = data.config
    postMessage({ type: READY })
  } else if (type === QUERY) {
    const found = data && await (index ??= load().catch(() => index = undefined))
    const items = !data ? [] : found ? found.search(data) : sorry()
    postMessage({ type: RESULT, data: { items } })
  }
})
