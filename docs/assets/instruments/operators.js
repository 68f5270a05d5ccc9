// The operators of PyTorch that the library's graphs need, by PyTorch's own names. What each of them
// is given follows its schema there; a size may come as a number that another operator computed.

import { Tensor, at, broadcast, count, dense, each, empty, expand, map, rows, strips, swap } from "./tensor.js"

const RANK = ["bool", "int64", "float32", "float64"]
const isFloat = dtype => dtype.startsWith("float")
const asTensor = (x, dtype) => (x instanceof Tensor ? x : new Tensor([dtype === "float32" ? Math.fround(x) : x], []))

// The dtype of a result: that of the tensors; a plain number with a fraction makes a float of it.
function joint(a, b) {
  const [x, y] = [a, b].map(one => one.dtype)
  if (!x && !y) return null
  if (x && y) return RANK[Math.max(RANK.indexOf(x), RANK.indexOf(y))]
  const dtype = x ?? y, number = x ? b : a
  return isFloat(dtype) || Number.isInteger(number) && dtype !== "bool" ? dtype : Number.isInteger(number) ? "int64" : "float32"
}

// An operator on two tensors, on a tensor and a number, or on two sizes.
const pair = (f, kind = joint) => (a, b) => {
  const dtype = kind(a, b)
  return joint(a, b) === null ? f(a, b) : map(dtype, f, asTensor(a, joint(a, b)), asTensor(b, joint(a, b)))
}
const floating = (a, b) => { const dtype = joint(a, b); return !dtype || isFloat(dtype) ? dtype : "float32" }
const test = f => pair(f, () => "bool")
const single = f => x => map(x.dtype, f, x)

const scaled = f => (a, b, alpha = 1) => f(a, alpha === 1 ? b : mul(b, alpha))
const add = scaled(pair((a, b) => a + b)), sub = scaled(pair((a, b) => a - b))
const mul = pair((a, b) => a * b), div = pair((a, b) => a / b, floating)
const floordiv = pair((a, b) => Math.floor(a / b))
const eq = test((a, b) => a === b), ne = test((a, b) => a !== b)
const le = test((a, b) => a <= b), lt = test((a, b) => a < b)
const and = pair((a, b) => a & b), or = pair((a, b) => a | b)
const pow = pair((a, b) => a ** b)
const fill = (x, mask, value) => map(x.dtype, (a, hidden, b) => (hidden ? b : a), x, mask, asTensor(value))
const to = (x, dtype) => map(dtype, dtype === "bool" ? a => a !== 0 : isFloat(dtype) ? a => a : Math.trunc, x)
const full = (shape, value, dtype = "float32") => { const x = empty(shape, dtype); x.data.fill(value); return x }

// The largest number in a strip of memory; a long one holds weights, and is looked through once.
const peaks = new WeakMap()
function peak(data) {
  let most = peaks.get(data)
  if (most !== undefined) return most
  most = 0
  for (let i = 0; i < data.length; i++) if (Math.abs(data[i]) > most) most = Math.abs(data[i])
  if (data.length > 10_000) peaks.set(data, most)
  return most
}

// Two rows and four columns at once, for speed; plain numbers and no closure, too.
function product(to, o, m, n, k, p, px, xi, xk, q, py, yk, yj, start, rounds) {
  const quick = rounds ? 0 : n - n % 4
  for (let i = 0; i < m; i += 2) {
    const row = px + i * xi, isPair = i + 1 < m, down = isPair ? xi : 0, below = isPair ? n : 0
    for (let j = 0; j < quick; j += 4) {
      let a = start[j], b = start[j + 1], c = start[j + 2], d = start[j + 3]
      let e = a, f = b, g = c, h = d, s = row, t = py + j * yj
      for (let l = 0; l < k; l++, s += xk, t += yk) {
        const v = p[s], w = p[s + down], x = q[t], y = q[t + yj], z = q[t + 2 * yj], last = q[t + 3 * yj]
        a += v * x
        b += v * y
        c += v * z
        d += v * last
        e += w * x
        f += w * y
        g += w * z
        h += w * last
      }
      const at = o + i * n + j
      to[at] = a
      to[at + 1] = b
      to[at + 2] = c
      to[at + 3] = d
      to[at + below] = e
      to[at + below + 1] = f
      to[at + below + 2] = g
      to[at + below + 3] = h
    }
    for (let r = i; r < (isPair ? i + 2 : i + 1); r++) {
      for (let j = quick; j < n; j++) {
        let sum = start[j], s = px + r * xi, t = py + j * yj
        if (rounds) for (let l = 0; l < k; l++, s += xk, t += yk) sum += Math.fround(p[s] * q[t])
        else for (let l = 0; l < k; l++, s += xk, t += yk) sum += p[s] * q[t]
        to[o + r * n + j] = sum
      }
    }
  }
}

// A product beyond the range of float32 is infinite there, and so here.
const overflows = (out, a, b) => out.dtype === "float32" && peak(a.data) * peak(b.data) > 3e38

function matmul(a, b) {
  const [m, k] = a.shape.slice(-2), n = b.shape.at(-1), lead = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2))
  const x = expand(a, [...lead, m, k]), y = expand(b, [...lead, k, n]), r = lead.length
  const out = empty([...lead, m, n], joint(a, b)), start = new Float64Array(n), rounds = overflows(out, a, b)
  const [xi, xk] = x.strides.slice(r), [yk, yj] = y.strides.slice(r)
  let o = 0
  each(lead, [x, y], (px, py) => {
    product(out.data, o, m, n, k, x.data, px, xi, xk, y.data, py, yk, yj, start, rounds)
    o += m * n
  })
  return out
}

function linear(given, weight, bias) {
  const x = given.packed(), [n, k] = weight.shape, [yj, yk] = weight.strides
  const out = empty(x.shape.with(-1, n), joint(x, weight)), start = bias ? bias.flat() : new Float64Array(n)
  product(out.data, 0, x.size / k, n, k, x.data, x.offset, k, 1, weight.data, weight.offset, yk, yj, start, overflows(out, x, weight))
  return out
}

function softmax(x, axis) {
  return strips(x, axis, x.dtype, (p, from, n, to, at) => {
    let most = -Infinity, sum = 0
    for (let i = from; i < from + n; i++) if (p[i] > most || p[i] !== p[i]) most = p[i]
    for (let i = 0; i < n; i++) sum += to[at + i] = Math.exp(p[from + i] - most)
    for (let i = 0; i < n; i++) to[at + i] /= sum
  }, true)
}

function layer_norm(x, shape, weight, bias, eps = 1e-5) {
  const w = weight.flat(), b = bias.flat()
  return strips(x, -1, x.dtype, (p, from, n, to, at) => {
    let mean = 0, variance = 0
    for (let i = from; i < from + n; i++) mean += p[i] / n
    for (let i = from; i < from + n; i++) variance += (p[i] - mean) ** 2 / n
    const scale = 1 / Math.sqrt(variance + eps)
    for (let i = 0; i < n; i++) to[at + i] = (p[from + i] - mean) * scale * w[i] + b[i]
  }, true)
}

function every(x, axis, keep = false) {
  const all = rows(x, axis, "bool", (row, out) => { out[0] = row.every(Boolean) })
  return keep ? all : squeeze(all, at(axis, x.shape.length))
}
// What f makes of the numbers along an axis.
const along = f => (x, [axis], keep = false) => {
  const made = rows(x, axis, x.dtype, (row, out) => { out[0] = f(row) })
  return keep ? made : squeeze(made, at(axis, x.shape.length))
}
const total = row => row.reduce((a, b) => a + b, 0)
const mean = row => total(row) / row.length
const norm = row => Math.sqrt(row.reduce((a, b) => a + b * b, 0))
function deviation(row) {
  const middle = mean(row)
  return Math.sqrt(row.reduce((a, b) => a + (b - middle) ** 2, 0) / (row.length - 1))
}
const squeeze = (x, axis) => x.view(...[x.shape, x.strides].map(list => list.filter((_, i) => i !== axis)))

// Shapes

function reshape(x, shape) {
  const open = shape.indexOf(-1)
  if (open >= 0) shape = shape.with(open, x.size / -count(shape))
  const packed = x.packed()
  return packed.view(shape, dense(shape))
}

function slice(x, axis = 0, start = 0, end = Infinity, step = 1) {
  axis = at(axis, x.shape.length)
  const n = x.shape[axis], clamp = i => Math.min(Math.max(i < 0 ? i + n : i, 0), n)
  const from = clamp(start ?? 0), length = Math.max(0, Math.ceil((clamp(end ?? Infinity) - from) / step))
  return x.view(x.shape.with(axis, length), x.strides.with(axis, x.strides[axis] * step), x.offset + from * x.strides[axis])
}

function select(x, axis, index) {
  axis = at(axis, x.shape.length)
  return squeeze(slice(x, axis, index, index === -1 ? undefined : index + 1), axis)
}

function unsqueeze(x, axis) {
  axis = at(axis, x.shape.length + 1)
  return x.view(x.shape.toSpliced(axis, 0, 1), x.strides.toSpliced(axis, 0, 0))
}

function cat(parts, axis = 0) {
  axis = at(axis, parts[0].shape.length)
  const length = parts.reduce((n, x) => n + x.shape[axis], 0)
  const out = empty(parts[0].shape.with(axis, length), parts[0].dtype)
  let from = 0
  for (const x of parts) {
    const place = slice(out, axis, from, from += x.shape[axis])
    const n = x.shape.at(-1), sp = place.strides.at(-1), sq = x.strides.at(-1)
    each(x.shape.slice(0, -1), [place, x], (p, q) => { for (let i = 0; i < n; i++, p += sp, q += sq) out.data[p] = x.data[q] })
  }
  return out
}

function flatten(x, from = 0, to = -1) {
  from = at(from, x.shape.length)
  to = at(to, x.shape.length)
  return reshape(x, x.shape.toSpliced(from, to - from + 1, count(x.shape.slice(from, to + 1))))
}

const unflatten = (x, axis, sizes) => reshape(x, x.shape.toSpliced(at(axis, x.shape.length), 1, ...sizes.map(
  size => size < 0 ? x.shape.at(axis) / -count(sizes) : size)))

// Along an axis, the number that comes from index(i).
function gather(x, axis, index) {
  axis = at(axis, x.shape.length)
  const n = x.shape[axis]
  return cat(Array.from({ length: n }, (_, i) => slice(x, axis, index(i, n), index(i, n) + 1)), axis)
}
const flip = (x, axes) => axes.reduce((y, axis) => gather(y, axis, (i, n) => n - 1 - i), x)
const roll = (x, shifts, axes) => axes.reduce((y, axis, k) => gather(y, axis, (i, n) => (((i - shifts[k]) % n) + n) % n), x)

const widened = (x, shape) => expand(x, shape.map((n, axis) => (n < 0 ? x.shape[axis - shape.length + x.shape.length] : n)))

function embedding(table, index) {
  const width = table.shape[1], out = empty([...index.shape, width], table.dtype)
  index.flat().forEach((row, i) => out.data.set(table.data.subarray(table.offset + row * width, table.offset + (row + 1) * width), i * width))
  return out
}

function arange(start, end, step = 1, dtype = "int64") {
  const out = empty([Math.max(0, Math.ceil((end - start) / step))], dtype)
  for (let i = 0; i < out.size; i++) out.data[i] = start + i * step
  return out
}

function tril(x, diagonal = 0) {
  const [height, width] = x.shape.slice(-2)
  const kept = new Tensor(new Uint8Array(height * width).map((_, i) => i % width - Math.floor(i / width) <= diagonal), [height, width], "bool")
  return fill(x, map("bool", a => a === 0, kept), 0)
}

export const operators = {
  // Sizes, and numbers made of them.
  "sym_size.int": (x, axis) => x.shape.at(axis),
  "add": add,
  "mul": mul,
  "floordiv": floordiv,
  "sym_sqrt": Math.sqrt,
  // Place by place.
  "add.Tensor": add,
  "sub.Tensor": sub,
  "mul.Tensor": mul,
  "div.Tensor": div,
  "neg.default": single(a => -a),
  "pow.Scalar": pow,
  "exp.default": single(Math.exp),
  "sin.default": single(Math.sin),
  "cos.default": single(Math.cos),
  "relu.default": single(a => (a < 0 ? 0 : a)),
  "addcmul.default": (x, a, b, value = 1) => add(x, mul(mul(a, b), value)),
  "eq.Scalar": eq,
  "ne.Scalar": ne,
  "lt.Scalar": lt,
  "lt.Tensor": lt,
  "le.Tensor": le,
  "__and__.Tensor": and,
  "__or__.Tensor": or,
  "bitwise_not.default": x => map(x.dtype, x.dtype === "bool" ? a => a ^ 1 : a => ~a, x),
  "masked_fill.Scalar": fill,
  "where.self": (mask, x, y) => map(joint(x, y), (a, b, c) => (a ? b : c), mask, x, y),
  "to.dtype": to,
  // Along an axis.
  "matmul.default": matmul,
  "linear.default": linear,
  "softmax.int": softmax,
  "layer_norm.default": layer_norm,
  "all.dim": every,
  "mean.dim": along(mean),
  "sum.dim_IntList": along(total),
  "linalg_vector_norm.default": (x, order, axes) => along(norm)(x, axes),
  "std.correction": x => along(deviation)(flatten(x), [0]),
  // Shapes.
  "transpose.int": swap,
  "reshape.default": reshape,
  "flatten.using_ints": flatten,
  "unflatten.int": unflatten,
  "unsqueeze.default": unsqueeze,
  "slice.Tensor": slice,
  "select.int": select,
  "expand.default": widened,
  "flip.default": flip,
  "roll.default": roll,
  "cat.default": cat,
  "stack.default": (parts, axis = 0) => cat(parts.map(x => unsqueeze(x, at(axis, x.shape.length + 1))), axis),
  "embedding.default": embedding,
  // Something from nothing.
  "arange.default": (end, dtype) => arange(0, end, 1, dtype),
  "arange.start": (start, end, dtype) => arange(start, end, 1, dtype),
  "arange.start_step": arange,
  "eye.default": (n, dtype) => map(dtype, (i, j) => (i === j ? 1 : 0), unsqueeze(arange(0, n), 1), arange(0, n)),
  "ones.default": (shape, dtype) => full(shape, 1, dtype),
  "zeros.default": (shape, dtype) => full(shape, 0, dtype),
  "zeros_like.default": (x, dtype = x.dtype) => full(x.shape, 0, dtype),
  "tril.default": tril,
}
