// Tensors as PyTorch has them: numbers in one strip of memory, read by shape, strides and offset.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, int64: Int32Array, int32: Int32Array, bool: Uint8Array,
}

export class Tensor {
  constructor(data, shape, dtype = "float32", strides = dense(shape), offset = 0) {
    Object.assign(this, { data, shape, dtype, strides, offset })
  }

  get size() { return count(this.shape) }

  // The same memory, read another way.
  view(shape, strides, offset = this.offset) {
    return new Tensor(this.data, shape, this.dtype, strides, offset)
  }

  // With its numbers one after another, copied if they are not.
  packed() {
    const wanted = dense(this.shape)
    const lies = this.shape.every((n, axis) => n < 2 || this.strides[axis] === wanted[axis])
    return lies ? this.view(this.shape, wanted) : map(this.dtype, x => x, this)
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
  const shape = broadcast(...given.map(x => x.shape))
  const out = empty(shape, dtype)
  const [a, b, c] = given.map(x => expand(x, shape))
  const rank = shape.length, last = rank ? shape[rank - 1] : 1, to = out.data
  const step = x => (x && rank ? x.strides[rank - 1] : 0)
  const sa = step(a), sb = step(b), sc = step(c)
  const da = a.data, db = b?.data, dc = c?.data
  let i = 0
  each(shape.slice(0, -1), [a, b, c].filter(Boolean), ([p, q, r]) => {
    if (c) for (let n = 0; n < last; n++, p += sa, q += sb, r += sc) to[i++] = f(da[p], db[q], dc[r])
    else if (b) for (let n = 0; n < last; n++, p += sa, q += sb) to[i++] = f(da[p], db[q])
    else for (let n = 0; n < last; n++, p += sa) to[i++] = f(da[p])
  })
  return out
}

// Walk through the leading axes, with the place in each tensor's memory at which a row begins.
export function each(shape, tensors, visit) {
  const index = shape.map(() => 0), places = tensors.map(x => x.offset)
  for (let left = count(shape); left > 0; left--) {
    visit(places.slice())
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const ends = ++index[axis] === shape[axis]
      const steps = ends ? 1 - shape[axis] : 1
      if (ends) index[axis] = 0
      tensors.forEach((x, i) => { places[i] += steps * x.strides[axis] })
      if (!ends) break
    }
  }
}

// What f makes of each row along an axis, which it gets as numbers one after another.
export function rows(x, axis, dtype, f, keep = false) {
  const rank = x.shape.length, moved = swap(x, axis, -1).packed()
  const length = moved.shape[rank - 1], shape = moved.shape.slice(0, -1)
  const out = empty(keep ? [...shape, length] : [...shape, 1], dtype), width = keep ? length : 1
  for (let i = 0, n = count(shape); i < n; i++) {
    const row = moved.data.subarray(moved.offset + i * length, moved.offset + (i + 1) * length)
    f(row, out.data.subarray(i * width, (i + 1) * width))
  }
  return swap(out, axis, -1)
}

export function swap(x, a, b) {
  const shape = x.shape.slice(), strides = x.strides.slice()
  a = at(a, shape.length)
  b = at(b, shape.length);
  [shape[a], shape[b]] = [shape[b], shape[a]];
  [strides[a], strides[b]] = [strides[b], strides[a]]
  return x.view(shape, strides)
}
