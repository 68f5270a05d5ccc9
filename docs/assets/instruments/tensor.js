// Tensors as PyTorch has them: numbers in one strip of memory, read by shape, strides and offset.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int64: Int32Array, int32: Int32Array, bool: Uint8Array,
}

export class Tensor {
  constructor(data, shape, dtype = "float32", strides = dense(shape), offset = 0) {
    this.data = data
    this.shape = shape
    this.dtype = dtype
    this.strides = strides
    this.offset = offset
  }

  get size() { return count(this.shape) }

  // The same memory, read another way.
  view(shape, strides, offset = this.offset) {
    return new Tensor(this.data, shape, this.dtype, strides, offset)
  }

  // With its numbers one after another, copied if they are not.
  packed() {
    return isPacked(this) ? this.view(this.shape, dense(this.shape)) : map(this.dtype, x => x, this)
  }

  // Its numbers, as one flat array of its own.
  flat() {
    const { data, offset } = this.packed()
    return data.slice(offset, offset + this.size)
  }

  // Nested lists, booleans as booleans.
  list() {
    const flat = this.flat()
    let i = 0
    const nest = axis => axis === this.shape.length
      ? (this.dtype === "bool" ? flat[i++] === 1 : flat[i++])
      : Array.from({ length: this.shape[axis] }, () => nest(axis + 1))
    return nest(0)
  }
}

export const count = shape => shape.reduce((a, b) => a * b, 1)

export function dense(shape) {
  const strides = new Array(shape.length)
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    strides[axis] = step
    step *= shape[axis]
  }
  return strides
}

function isPacked({ shape, strides }) {
  for (let axis = shape.length - 1, step = 1; axis >= 0; axis--) {
    if (shape[axis] > 1 && strides[axis] !== step) return false
    step *= shape[axis]
  }
  return true
}

export const empty = (shape, dtype = "float32") => new Tensor(new ARRAYS[dtype](count(shape)), shape, dtype)

// A tensor of nested lists; true and false make it boolean, and numbers are floats unless said.
export function tensor(list, dtype) {
  const shape = []
  for (let part = list; Array.isArray(part); part = part[0]) shape.push(part.length)
  const flat = Array.isArray(list) ? list.flat(Infinity) : [list]
  const kind = dtype ?? (typeof flat[0] === "boolean" ? "bool" : "float32")
  if (flat.length !== count(shape)) throw new RangeError("rows of different lengths")
  return new Tensor(ARRAYS[kind].from(flat), shape, kind)
}

export const at = (axis, rank) => (axis < 0 ? axis + rank : axis)

// The shape in which all of these meet, counted from the right.
export function broadcast(...shapes) {
  const rank = Math.max(...shapes.map(shape => shape.length))
  return Array.from({ length: rank }, (_, axis) => {
    let size = 1
    for (const shape of shapes) {
      const n = shape[axis - rank + shape.length] ?? 1
      if (n !== 1 && size !== 1 && n !== size) throw new RangeError(`sizes ${size} and ${n} do not meet`)
      if (n !== 1) size = n
    }
    return size
  })
}

// x as if it had this shape: axes of size 1 are read again and again.
export function expand(x, shape) {
  const skip = shape.length - x.shape.length
  return x.view(shape, shape.map((_, axis) => (axis < skip || x.shape[axis - skip] === 1 ? 0 : x.strides[axis - skip])))
}

// f of the numbers of some tensors, place by place.
export function map(dtype, f, ...given) {
  const whole = broadcast(...given.map(x => x.shape)), out = empty(whole, dtype), to = out.data
  // What lies alike in one piece is one long row.
  const isRow = given.every(x => x.size === out.size && isPacked(x)), shape = isRow ? [out.size] : whole
  const [a, b, c] = given.map(x => (isRow ? x.view(shape, [1]) : expand(x, shape)))
  const rank = shape.length, last = rank ? shape[rank - 1] : 1
  const step = x => (x && rank ? x.strides[rank - 1] : 0)
  const sa = step(a), sb = step(b), sc = step(c)
  const da = a.data, db = b?.data, dc = c?.data
  let i = 0
  each(shape.slice(0, -1), [a, b, c], (p, q, r) => {
    if (c) for (let n = 0; n < last; n++, p += sa, q += sb, r += sc) to[i++] = f(da[p], db[q], dc[r])
    else if (b) for (let n = 0; n < last; n++, p += sa, q += sb) to[i++] = f(da[p], db[q])
    else for (let n = 0; n < last; n++, p += sa) to[i++] = f(da[p])
  })
  return out
}

// Walk through the leading axes of up to three tensors, with the place at which each one's row begins.
export function each(shape, [a, b = a, c = a], visit) {
  const index = shape.map(() => 0)
  let p = a.offset, q = b.offset, r = c.offset
  for (let left = count(shape); left > 0; left--) {
    visit(p, q, r)
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const ends = ++index[axis] === shape[axis], steps = ends ? 1 - shape[axis] : 1
      if (ends) index[axis] = 0
      p += steps * a.strides[axis]
      q += steps * b.strides[axis]
      r += steps * c.strides[axis]
      if (!ends) break
    }
  }
}

// What f makes of each row along an axis: it gets where the row begins, its length, and where its
// own numbers go.
export function strips(x, axis, dtype, f, keep = false) {
  const { data, offset, shape } = swap(x, axis, -1).packed(), length = shape.at(-1)
  const out = empty(keep ? shape : shape.with(-1, 1), dtype)
  for (let i = 0, n = count(shape.slice(0, -1)); i < n; i++) f(data, offset + i * length, length, out.data, keep ? i * length : i)
  return swap(out, axis, -1)
}

// The same for those who are in no hurry: f gets the row, and room for its own numbers.
export const rows = (x, axis, dtype, f, keep = false) => strips(x, axis, dtype, (data, from, n, to, at) =>
  f(data.subarray(from, from + n), to.subarray(at, keep ? at + n : at + 1)), keep)

export function swap(x, a, b) {
  const shape = x.shape.slice(), strides = x.strides.slice()
  a = at(a, shape.length)
  b = at(b, shape.length);
  [shape[a], shape[b]] = [shape[b], shape[a]];
  [strides[a], strides[b]] = [strides[b], strides[a]]
  return x.view(shape, strides)
}
