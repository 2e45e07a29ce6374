// From physical coordinates to cells of a picture of the memory: line x bank, lane x column, fractal x row, bank
// group x row, warp x lane x register, or the two first axes.
const Places = (() => {
  const { quotient, remainder } = Arithmetic;

  function bytesOf(place, bits, base) {
    const first = (place.m ?? 0) * bits;
    return { first: base + quotient(first, 8), last: base + quotient(first + Math.max(bits, 1) - 1, 8) };
  }

  function byteText(place, bits, base, first) {
    const shift = base ? ` + ${base} (start of the buffer)` : "";
    return `byte = ${place.m ?? 0}*${bits}/8${shift} = ${first}${bits % 8 ? ` (bit ${remainder((place.m ?? 0) * bits, 8)})` : ""}`;
  }

  function blocks(first, last, size, cell) {
    const found = [];
    for (let block = quotient(first, size); block <= quotient(last, size); block++) found.push(cell(block));
    return found;
  }

  function fragmentThread(memory, place) {
    let thread = 0;
    const terms = [];
    for (const [axis, step] of Object.entries(memory.threads)) if (axis in place) {
      thread += place[axis] * step;
      terms.push(step === 1 ? `${place[axis]}` : `${place[axis]}*${step}`);
    }
    return { thread, terms };
  }

  const KINDS = {
    banks: {
      xLabel: m => `bank (${m.bank_bytes} bytes)`, yLabel: m => `line (${m.banks * m.bank_bytes} bytes)`, width: m => m.banks,
      mark: (m, place) => `${place.m ?? 0}`,
      cells(m, place, bits, base) {
        const { first, last } = bytesOf(place, bits, base);
        return blocks(first, last, m.bank_bytes, word => ({ x: remainder(word, m.banks), y: quotient(word, m.banks) }));
      },
      text(m, place, bits, base) {
        const { first } = bytesOf(place, bits, base);
        const word = quotient(first, m.bank_bytes);
        return [byteText(place, bits, base, first), `word = ${first} div ${m.bank_bytes} = ${word}`,
          `bank = ${word} mod ${m.banks} = ${remainder(word, m.banks)}, line = ${word} div ${m.banks} = ${quotient(word, m.banks)}`];
      },
    },
    fractals: {
      xLabel: m => `fractal (${m.fractal_bytes} bytes)`, yLabel: m => `row (${m.row_bytes} bytes)`, width: () => 0,
      height: m => m.fractal_bytes / m.row_bytes,
      mark: (m, place) => `${place.m ?? 0}`,
      cells(m, place, bits, base) {
        const { first, last } = bytesOf(place, bits, base);
        const rows = m.fractal_bytes / m.row_bytes;
        return blocks(first, last, m.row_bytes, row => ({ x: quotient(row, rows), y: remainder(row, rows) }));
      },
      text(m, place, bits, base) {
        const { first } = bytesOf(place, bits, base);
        const inside = remainder(first, m.fractal_bytes);
        return [byteText(place, bits, base, first),
          `fractal = ${first} div ${m.fractal_bytes} = ${quotient(first, m.fractal_bytes)}, row = ${inside} div ${m.row_bytes} = ${quotient(inside, m.row_bytes)}, byte ${remainder(inside, m.row_bytes)} of the row`];
      },
    },
    groups: {
      xLabel: () => "bank group", yLabel: m => `row (${m.groups * m.block_bytes} bytes)`, width: m => m.groups,
      mark: (m, place) => `${place.m ?? 0}`,
      cells(m, place, bits, base) {
        const { first, last } = bytesOf(place, bits, base);
        return blocks(first, last, m.block_bytes, block => ({ x: remainder(block, m.groups), y: quotient(block, m.groups) }));
      },
      text(m, place, bits, base) {
        const { first } = bytesOf(place, bits, base);
        const block = quotient(first, m.block_bytes);
        return [byteText(place, bits, base, first), `block = ${first} div ${m.block_bytes} = ${block}`,
          `bank id = byte bits from ${m.bank_shift} on = ${quotient(first, 2 ** m.bank_shift)}`,
          `bank group = ${block} mod ${m.groups} = ${remainder(block, m.groups)}, row = ${block} div ${m.groups} = ${quotient(block, m.groups)}`];
      },
    },
    tmem: {
      xLabel: () => "column (32 bits)", yLabel: () => "lane", width: () => 0, whole: true,
      cells(m, place, bits) {
        const first = (place.TCol ?? 0) * bits;
        return blocks(first, first + bits - 1, 32, column => ({ x: column, y: place.TLane ?? 0 }));
      },
      text(m, place, bits) {
        const first = (place.TCol ?? 0) * bits;
        return [`lane = TLane = ${place.TLane ?? 0}, column = ${place.TCol ?? 0}*${bits} bits div 32 = ${quotient(first, 32)}, bit ${remainder(first, 32)} of it`];
      },
    },
    fragment: {
      xLabel: () => "warp : register (element of the lane)", yLabel: () => "lane", width: () => 0, byWarp: true,
      // x is still the register alone and y the thread; the page lays the warps side by side when it knows them all.
      cells: (m, place) => [{ x: place.m ?? place.register ?? 0, y: fragmentThread(m, place).thread }],
      mark(m, place) {
        const { thread } = fragmentThread(m, place);
        return `${quotient(thread, 32)}:${remainder(thread, 32)}`;
      },
      text(m, place) {
        const { thread, terms } = fragmentThread(m, place);
        return [`thread = ${terms.join(" + ") || "0"} = ${thread}`,
          `warp = ${thread} div 32 = ${quotient(thread, 32)}, lane = ${thread} mod 32 = ${remainder(thread, 32)}, register = ${place.m ?? place.register ?? 0}`];
      },
    },
    axes: {
      xLabel: m => m.axes[1] ?? "", yLabel: m => m.axes[0], width: () => 0,
      cells: (m, place) => [{ x: place[m.axes[1]] ?? 0, y: place[m.axes[0]] }],
      text: (m, place) => [m.axes.map(axis => `${axis} = ${place[axis]}`).join(", ")],
    },
  };

  return { kind: memory => KINDS[memory.kind], bytesOf };
})();
