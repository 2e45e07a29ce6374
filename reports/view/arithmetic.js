"use strict";
// The arithmetic of a layout: from a logical coordinate to all of its physical places, step by step.
// A layout is described as data (see reports/view/__init__.py); nothing here knows a notation.
const Arithmetic = (() => {
  const SMALL = 2 ** 31;
  const quotient = (value, by) => Math.floor(value / by);
  const remainder = (value, by) => value - Math.floor(value / by) * by;
  const xor = (a, b) =>
    a >= 0 && b >= 0 && a < SMALL && b < SMALL ? a ^ b : Number(BigInt(a) ^ BigInt(b));

  const signed = value => (value < 0 ? `(${value})` : `${value}`);

  // Horner's rule over a shape; "row": last dimension fastest, "column": first dimension fastest.
  function flatten(coord, shape, order) {
    const dims = shape.map((_, i) => i);
    if (order === "column") dims.reverse();
    let total = 0;
    for (const d of dims) total = total * shape[d] + coord[d];
    return total;
  }

  // Digits of a value over extents; the slowest one takes the rest without a modulo.
  function split(value, extents, fast) {
    const parts = new Array(extents.length).fill(0);
    const places = extents.map((_, i) => i);
    if (fast === "last") places.reverse();
    places.forEach((at, k) => {
      if (k === places.length - 1) { parts[at] = value; return; }
      parts[at] = remainder(value, extents[at]);
      value = quotient(value, extents[at]);
    });
    return parts;
  }

  // Bits [from, from+bits) of an address are xor-ed into bits [to, to+bits): q ^ field.
  function swizzle(value, s) {
    const field = remainder(quotient(value, 2 ** s.from), 2 ** s.bits);
    return { value: xor(value, field * 2 ** s.to), field };
  }

  function weighted(d, coord, steps) {
    const sums = {};
    for (const axis of d.axes) sums[axis] = { value: 0, terms: [] };
    for (const group of d.groups) {
      let value, name;
      if (group.from === "flat") {
        value = flatten(coord, d.shape, d.order);
        name = "index";
        steps?.push({ name: "flatten", text: flattenText(coord, d.shape, d.order, value) });
      } else {
        value = coord[group.from];
        name = `coordinate ${group.from}`;
      }
      const extents = group.leaves.map(leaf => leaf[0]);
      const parts = split(value, extents, group.fast);
      if (extents.length > 1)
        steps?.push({ name: "split", text: `${name} ${value} over (${extents.join(", ")}), ${group.fast} fastest: (${parts.join(", ")})` });
      group.leaves.forEach(([, stride, axis], i) => {
        sums[axis].value += parts[i] * stride;
        sums[axis].terms.push(`${parts[i]}*${signed(stride)}`);
      });
    }
    const found = {};
    for (const axis of d.axes) {
      found[axis] = sums[axis].value;
      if (sums[axis].terms.length)
        steps?.push({ name: "stride", text: `${axis} = ${sums[axis].terms.join(" + ")} = ${sums[axis].value}` });
    }
    return found;
  }

  function xored(d, coord, steps) {
    const found = { ...d.origin };
    for (const axis of d.axes) {
      const terms = [];
      d.bases.forEach((bases, dim) => bases.forEach((basis, bit) => {
        if (remainder(quotient(coord[dim], 2 ** bit), 2) && axis in basis && basis[axis] !== 0) {
          terms.push(`${basis[axis]}`);
          found[axis] = xor(found[axis], basis[axis]);
        }
      }));
      if (d.origin[axis]) terms.unshift(`${d.origin[axis]}`);
      steps?.push({ name: "xor", text: `${axis} = ${terms.join(" ^ ") || "0"} = ${found[axis]}` });
    }
    steps?.unshift({ name: "split", text: `bits of (${coord.join(", ")}): ${coord.map(c => `0b${c.toString(2)}`).join(", ")}; each set bit adds its basis vector by xor` });
    return found;
  }

  function looked(d, coord, steps) {
    const index = flatten(coord, d.shape, "row");
    const found = {};
    for (const axis of d.axes) found[axis] = d.table[axis][index];
    steps?.push({ name: "table", text: `element ${index} (row-major): ${d.axes.map(a => `${a} = ${found[a]}`).join(", ")} (${d.why})` });
    return found;
  }

  function flattenText(coord, shape, order, value) {
    const at = order === "column" ? coord.map((_, i) => coord.length - 1 - i) : coord.map((_, i) => i);
    let text = `${coord[at[0]]}`;
    for (const d of at.slice(1)) text = `${text.includes("+") ? `(${text})` : text}*${shape[d]} + ${coord[d]}`;
    return `(${coord.join(", ")}) in (${shape.join(", ")}), ${order === "column" ? "first" : "last"} dimension fastest: ${text} = ${value}`;
  }

  // All combinations of the replica iters, first one slowest, as offsets by axis.
  function replicaOffsets(d) {
    if (d.copies) return d.copies;
    let offsets = [{}];
    for (const [extent, stride, axis] of d.replicas) {
      const next = [];
      for (const known of offsets)
        for (let i = 0; i < extent; i++) next.push({ ...known, [axis]: (known[axis] || 0) + i * stride });
      offsets = next;
    }
    return offsets;
  }

  // The steps in words and numbers, and every place of the element: one object axis -> number a copy.
  function evaluate(d, coord, quiet = false) {
    const steps = quiet ? null : [];
    const base = d.kind === "table" ? looked(d, coord, steps) : d.kind === "xor" ? xored(d, coord, steps) : weighted(d, coord, steps);
    for (const [axis, value] of Object.entries(d.offset)) {
      steps?.push({ name: "offset", text: `${axis} = ${base[axis]} + ${signed(value)} = ${base[axis] + value}` });
      base[axis] += value;
    }
    const copies = replicaOffsets(d);
    const places = copies.map(copy => {
      const place = { ...base };
      for (const [axis, value] of Object.entries(copy))
        place[axis] = d.replicaXor ? xor(place[axis], value) : place[axis] + value;
      return place;
    });
    if (copies.length > 1) {
      const moved = [...new Set(copies.flatMap(copy => Object.keys(copy)))];
      steps?.push({ name: "replica", text: `${copies.length} copies: ${moved.map(a => `${a} = ${places.slice(0, 16).map(p => p[a]).join(", ")}${places.length > 16 ? ", ..." : ""}`).join("; ")}` });
    }
    for (const [interval, padding] of d.pads) if (padding) for (const place of places) {
      const before = place.m0 ?? place.m, extra = quotient(before, interval) * padding;
      steps?.push({ name: "padding", text: `m = ${place.m} + ${padding} for each ${interval} elements of ${before} = ${place.m + extra}` });
      place.m0 = before;
      place.m += extra;
    }
    for (const place of places) delete place.m0;
    if (d.swizzle) {
      const s = d.swizzle;
      places.forEach((place, i) => {
        const { value, field } = swizzle(place.m, s);
        if (i < 4)
          steps?.push({ name: "swizzle", text: `m = ${place.m}: bits ${s.from} to ${s.from + s.bits - 1} are ${field}; ${place.m} ^ ${field}*2^${s.to} = ${value}` });
        place.m = value;
      });
    }
    return { steps, places };
  }

  return { evaluate, flatten, split, swizzle, xor, quotient, remainder };
})();
