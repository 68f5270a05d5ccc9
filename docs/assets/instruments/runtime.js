// Runs a graph of the library: docs/assets/instruments/graphs, written by src/sitekit/graphs.py.

import { operators } from "./operators.js"
import { Tensor } from "./tensor.js"

const WORDS = { inf: Infinity, "-inf": -Infinity, nan: NaN }

// What a graph says of a value that an operator is given: its place; a list, or the value itself.
class Place {
  constructor(at) { this.at = at }
}
const said = x => Array.isArray(x) ? x.map(said)
  : typeof x !== "string" ? x ?? undefined
    : x[0] === "$" ? new Place(Number(x.slice(1)))
      : WORDS[x] ?? x

export class Graph {
  constructor({ inputs, weights, nodes, outputs, lines, refusal }, memory) {
    Object.assign(this, { inputs, outputs: said(outputs), lines, refusal })
    this.nodes = nodes.map(([operator, args, ...names]) => [operators[operator], said(args), names.length ? names : [operator]])
    let from = 0
    this.weights = weights.map(([, shape]) => {
      const x = new Tensor(memory, shape, "float32", undefined, from)
      from += x.size
      return x
    })
  }

  // Run with inputs by name. What comes back has the outputs, and every value that the source names:
  // values.scores is the list of what was assigned to `scores`, in order. What has no name goes by
  // its operator's. places has every value where the graph's lines say that it is.
  // edits: { name: value => value } changes what a name holds, before anything reads it.
  run(given, edits = {}) {
    this.inputs.forEach(([name, axes]) => check(name, axes, given[name]))
    const values = [...this.inputs.map(([name]) => given[name]), ...this.weights], named = {}
    const read = x => (x instanceof Place ? values[x.at] : Array.isArray(x) ? x.map(read) : x)
    for (const [operator, args, names] of this.nodes) {
      let value = operator(...args.map(read))
      for (const name of names) {
        if (edits[name]) value = edits[name](value)
        ;(named[name] ??= []).push(value)
      }
      values.push(value)
    }
    return { outputs: this.outputs.map(read), values: named, places: values }
  }
}

// A graph holds for as many axes as it was exported with, and for their fixed sizes.
function check(name, axes, x) {
  const fits = axes === null ? Number.isInteger(x)
    : x?.shape?.length === axes.length && axes.every((axis, i) => typeof axis === "string" || axis === x.shape[i])
  if (!fits) throw new TypeError(`${name}: got ${x?.shape ?? x}, expected ${axes ?? "a whole number"}`)
}

// The graph of this name, with its weights if it has any; each is fetched once, unless that fails.
const loaded = new Map()
export function load(name) {
  if (!loaded.has(name)) {
    const graph = fetched(name)
    loaded.set(name, graph)
    graph.catch(() => loaded.delete(name))
  }
  return loaded.get(name)
}

async function get(file) {
  const answer = await fetch(new URL(`graphs/${file}`, import.meta.url))
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`)
  return answer
}

async function fetched(name) {
  const graph = await (await get(`${name}.json`)).json()
  const half = graph.weights.length ? await (await get(`${name}.bin`)).arrayBuffer() : new ArrayBuffer(0)
  return new Graph(graph, floats(new Uint16Array(half)))
}

// float16 as float32: DataView.getFloat16 is newer than many a phone.
function floats(half) {
  return Float32Array.from(half, bits => {
    const sign = bits >> 15 ? -1 : 1, exponent = bits >> 10 & 31, fraction = bits & 1023
    if (exponent === 31) return fraction ? NaN : sign * Infinity
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction)
  })
}
