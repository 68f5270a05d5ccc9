// The frame of an instrument: its controls, its state in the address, what it says, its Python.
//
// An instrument is a module that exports, by default, an object with
//   graphs    names of graphs, which `compute` gets loaded
//   controls  { name: { kind, value, … } }, see KINDS; together their values are the state. One with
//             inside: true is left to the view, whose elements for it are called <instrument>-<control>
//   words     { zh: {…}, en: {…} }: title, a word for each control, and "control.option" for options
//             and for values of a range that are shown as something else
//   compute   (state, graphs) => result: what is shown, computed by the graphs; tensors by the names
//             that the Python block gives them
//   render    (view, result, state, words, set) => draws; set({ name: value }) changes the state
//   says      (result, state, words) => a sentence for those who do not see it change
//   python    (state) => a block that makes the same numbers with the library
//   fix       (state) => state, where controls depend on each other; may be left out
// A state is valid before anybody gets it, whatever was typed, dragged or put into the address.

import { load } from "./runtime.js"

const FRAME = {
  zh: { reset: "重置", python: "对应的 Python 代码", copy: "复制", copied: "已复制", link: "复制链接", failed: "这一步没有算出来，显示的是上一步的结果。" },
  en: { reset: "Reset", python: "As Python", copy: "Copy", copied: "Copied", link: "Copy link", failed: "That could not be computed; you see the last result that could." },
}
const language = document.documentElement.lang.startsWith("zh") ? "zh" : "en"

// Each kind of control: what a text means to it, or undefined; how a value is written; how it looks.
const number = ({ min, max, step = 1 }, text) => {
  const x = text.trim() === "" ? NaN : Number(text)
  if (Number.isNaN(x)) return undefined
  const near = step ? min + Math.round((Math.min(Math.max(x, min), max) - min) / step) * step : x
  return Number(Math.min(Math.max(near, min), max).toPrecision(12))
}
const KINDS = {
  // { min, max, step: 1 }
  range: { read: number, write: String, build: slider },
  // { options: [words] }
  choice: { read: ({ options }, text) => (options.includes(text) ? text : undefined), write: String, build: radios },
  // true or false
  toggle: { read: (_, text) => ({ 1: true, true: true, 0: false, false: false })[text], write: on => (on ? "1" : "0"), build: checkbox },
  // { most: letters }
  text: { read: ({ most }, text) => [...text].slice(0, most).join(""), write: String, build: line },
  // { options: [words] }, of which any may be chosen
  set: { read: ({ options }, text) => options.filter(one => text.split(",").includes(one)), write: String, build: () => [] },
  // { min, max, step: 0 }: nested lists of numbers, of which the shape stays
  table: { read: readTable, write: rows => rows.map(row => row.join(",")).join(";"), build: cells },
}

function readTable(control, text) {
  const rows = text.split(";").map(row => row.split(",").map(one => number({ step: 0, ...control }, one)))
  const fits = rows.length === control.value.length && rows.every((row, i) => row.length === control.value[i].length)
  return fits && !rows.flat().includes(undefined) ? rows : undefined
}

// The valid value that is meant; what means nothing leaves what was there.
const valid = (control, value, before) => {
  const kind = KINDS[control.kind]
  return kind.read(control, typeof value === "string" ? value : kind.write(value)) ?? before
}

// Elements: h("label", { for: "x" }, "words", child). What begins with "on" listens.
const SVG = new Set(["svg", "g", "line", "path", "rect", "circle", "text", "polyline", "polygon", "marker", "defs", "title"])
export function h(tag, given = {}, ...children) {
  const element = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag)
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value)
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value)
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined))
  return element
}

function slider({ min, max, step = 1 }, label, id, change, words) {
  const input = h("input", { type: "range", min, max, step, id, oninput: () => change(input.value) })
  const output = h("span", { class: "value", "aria-hidden": "true" })
  return [h("div", { class: "range" }, h("label", { for: id }, label), input, output),
    value => {
      input.value = value
      output.textContent = words(value)
      input.setAttribute("aria-valuetext", words(value))
    }]
}

function radios({ options }, label, id, change, words) {
  const inputs = options.map(option => h("input", { type: "radio", name: id, value: option, onchange: () => change(option) }))
  return [h("fieldset", { class: "choice" }, h("legend", {}, label), h("div", {}, inputs.map((input, i) => h("label", {}, input, h("span", {}, words(options[i])))))),
    value => inputs.forEach(input => { input.checked = input.value === value })]
}

function checkbox(_, label, id, change) {
  const input = h("input", { type: "checkbox", id, onchange: () => change(input.checked) })
  return [h("label", { class: "toggle", for: id }, input, h("span", {}, label)), value => { input.checked = value }]
}

function line({ most }, label, id, change) {
  const input = h("input", { type: "text", id, autocomplete: "off", maxlength: 4 * most, oninput: () => change(input.value) })
  return [h("div", { class: "line" }, h("label", { for: id }, label), input),
    value => { if (document.activeElement !== input) input.value = value }]
}

function cells({ value: first, min, max }, label, id, change) {
  let now = first
  const inputs = first.map((row, i) => row.map((_, j) => h("input", {
    type: "text", inputmode: "decimal", "aria-label": `${label} ${i}, ${j}`, size: 4,
    onchange: event => {
      const x = number({ min, max, step: 0 }, event.target.value.replace("−", "-"))
      change(now.map((r, k) => r.map((old, l) => (k === i && l === j ? x ?? old : old))))
    },
  })))
  return [h("fieldset", { class: "cells" }, h("legend", {}, label), inputs.map(row => h("div", {}, row))),
    value => { now = value; inputs.forEach((row, i) => row.forEach((input, j) => { input.value = value[i][j] })) }]
}

// The state in the address: ?name=control(value)control(value), without what is as at first.
function fromAddress(name, controls) {
  const text = new URLSearchParams(location.search).get(name) ?? ""
  return Object.fromEntries([...text.matchAll(/(\w+)\(([^()]*)\)/g)]
    .filter(([, key]) => Object.hasOwn(controls, key)).map(([, key, value]) => [key, value]))
}

function address(name, controls, state) {
  const parts = Object.keys(controls)
    .map(key => [key, KINDS[controls[key].kind].write(state[key])])
    .filter(([key, text]) => text !== KINDS[controls[key].kind].write(controls[key].value))
    .map(([key, text]) => `${key}(${encodeURIComponent(text).replace(/[()]/g, "")})`)
  const others = location.search.slice(1).split("&").filter(part => part && !part.startsWith(`${name}=`))
  const query = [...others, ...(parts.length ? [`${name}=${parts.join("")}`] : [])].join("&")
  return location.pathname + (query && `?${query}`) + location.hash
}

const copy = (button, text, words) => navigator.clipboard?.writeText(text).then(() => {
  button.textContent = words.copied
  setTimeout(() => { button.textContent = button.dataset.words }, 1500)
}, () => {})

// Build the instrument that an element names, in place of the figure that it holds.
export async function mount(element) {
  const name = element.dataset.instrument
  const [{ default: instrument }] = await Promise.all([import(`./${name}.js`), style()])
  const graphs = Object.fromEntries(await Promise.all(instrument.graphs.map(async graph => [graph, await load(graph)])))
  const words = { ...FRAME[language], ...instrument.words[language] }, { controls } = instrument
  const first = Object.fromEntries(Object.entries(controls).map(([key, { value }]) => [key, value]))
  const fix = instrument.fix ?? (state => state)
  let state = fix(first), result

  const view = h("div", { class: "view" })
  const status = h("p", { class: "says", role: "status" })
  const code = h("code", { tabindex: 0 })
  const button = (key, act) => {
    const one = h("button", { type: "button", class: key, "data-words": words[key], onclick: () => act(one) }, words[key])
    return one
  }
  const shown = Object.entries(controls).filter(([, { inside }]) => !inside).map(([key, control]) => [key, ...KINDS[control.kind].build(
    control, words[key], `${name}-${key}`, value => set({ [key]: value }), option => words[`${key}.${option}`] ?? option)])
  const panel = h("section", { class: "panel", "aria-label": words.title },
    h("header", {}, h("h3", { class: "title", role: "presentation" }, words.title),
      button("reset", () => set(first)), button("link", one => copy(one, location.href, words))),
    h("div", { class: "controls" }, shown.map(([, part]) => part)),
    view, status,
    h("details", { class: "python" }, h("summary", {}, words.python), h("pre", {}, code), button("copy", one => copy(one, code.textContent, words))))

  // What scrolls has to scroll from the keyboard too. It is measured when the browser has laid the
  // page out anyway; and again when there is another width for it.
  function reach() {
    const wide = [...view.children].filter(part => part.scrollWidth > part.clientWidth)
    for (const part of view.children) part.toggleAttribute("tabindex", wide.includes(part))
    for (const part of wide) part.tabIndex = 0
  }
  new ResizeObserver(reach).observe(view)

  function update() {
    result = instrument.compute(state, graphs)
    const { key } = view.contains(document.activeElement) ? document.activeElement.dataset : {}
    instrument.render(view, result, state, words, set)
    if (key) view.querySelector(`[data-key="${key}"]`)?.focus()  // what is drawn anew keeps the focus
    const said = instrument.says(result, state, words), block = instrument.python(state)
    if (status.textContent !== said) status.textContent = said
    if (code.textContent !== block) code.textContent = block
    for (const [key, , write] of shown) write(state[key])
    cancelAnimationFrame(update.later)
    update.later = requestAnimationFrame(reach)
    Object.assign(element, { state, result })
  }

  // Any change, from a control or from the view, goes through here.
  function set(change) {
    const before = state
    state = fix(Object.fromEntries(Object.entries(controls).map(([key, control]) => [key, key in change ? valid(control, change[key], state[key]) : state[key]])))
    try {
      update()
      delete element.dataset.failed
    } catch (error) {
      state = before
      update()
      element.dataset.failed = String(error)
      status.textContent = words.failed
    }
    clearTimeout(set.later)  // browsers refuse more than a hundred changes in half a minute
    set.later = setTimeout(() => history.replaceState(history.state, "", address(name, controls, state)), 300)
  }

  const asked = fromAddress(name, controls)
  state = fix(Object.fromEntries(Object.entries(first).map(([key, value]) => [key, key in asked ? valid(controls[key], asked[key], value) : value])))
  element.append(panel)
  element.classList.add("mounted")
  try {
    update()
  } catch (error) {
    panel.remove()
    element.classList.remove("mounted")
    throw error
  }
  Object.assign(element, { set, instrument })
}

let styled
function style() {
  styled ??= new Promise((done, failed) => {
    document.head.append(h("link", { rel: "stylesheet", href: new URL("instruments.css", import.meta.url), onload: done, onerror: failed }))
  })
  styled.catch(() => { styled = undefined })
  return styled
}
