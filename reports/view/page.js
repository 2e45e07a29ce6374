// The page: choices on top, the two grids, and what the chosen element and phase say. All arithmetic is in Arithmetic
// and Places; counts of phases come from the Python package, and only lanes and bytes of them are shown here.
(() => {
  const view = JSON.parse(document.getElementById("view").textContent);
  const by = id => document.getElementById(id);
  const MOST = 1 << 17, MOST_LINES = 1024, TINTS = 8;
  const state = { buffer: 0, dtype: "", swizzle: "", memory: "", access: -1, instruction: 0, phase: 0, element: 0 };
  const logical = new Grid(by("logical"), (row, col) => choose(row * model.cols + col));
  const physical = new Grid(by("physical"), (row, col) => choosePlace(row, col));
  let model = null;

  const buffer = () => view.buffers[state.buffer];
  const variant = () => buffer().variants[`${state.dtype}|${state.swizzle}`];
  const accessesOf = () => view.accesses.map((a, i) => [a, i]).filter(([a]) => a.buffer === buffer().name);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function element(tag, text, className) {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  // Lanes as ranges: 0-3, 8, 10-11.
  function ranges(values) {
    const parts = [];
    for (let i = 0; i < values.length;) {
      let j = i;
      while (j + 1 < values.length && values[j + 1] === values[j] + 1) j++;
      parts.push(j > i + 1 ? `${values[i]}-${values[j]}` : values.slice(i, j + 1).join(", "));
      i = j + 1;
    }
    return parts.join(", ");
  }

  function columnsOf(shape) {
    if (shape.length <= 1) return Math.min(shape[0] ?? 1, 32);
    if (shape.length === 2) return shape[1];
    let best = shape[shape.length - 1], cols = 1;
    const total = shape.reduce((a, b) => a * b, 1);
    for (let d = shape.length - 1; d > 0; d--) {
      cols *= shape[d];
      if (Math.max(cols, total / cols) < Math.max(best, total / best)) best = cols;
    }
    return best;
  }

  function coordinate(index, shape) {
    return Arithmetic.split(index, shape.length ? shape : [1], "last").slice(0, shape.length);
  }

  // Everything that follows from buffer, dtype, swizzle and place: places and cells of all elements.
  function build() {
    const v = variant(), memory = view.memories[state.memory];
    model = { error: v.error };
    if (v.error) return;
    const layout = v.layout, shape = layout.shape, kind = Places.kind(memory);
    const total = shape.reduce((a, b) => a * b, 1), cols = columnsOf(shape);
    const count = Math.min(total, Math.max(cols, Math.floor(MOST / cols) * cols));
    const cellsOf = new Array(count), marks = new Array(count), bytes = new Map();
    for (let e = 0; e < count; e++) {
      const { places } = Arithmetic.evaluate(layout, coordinate(e, shape), true);
      const own = [];
      for (const place of places) {
        own.push(...kind.cells(memory, place, v.bits, buffer().base));
        if (memory.kind === "banks") {
          const { first, last } = Places.bytesOf(place, v.bits, buffer().base);
          for (let b = first; b <= last; b++) { if (!bytes.has(b)) bytes.set(b, []); bytes.get(b).push(e); }
        }
      }
      cellsOf[e] = own;
      marks[e] = kind.mark ? kind.mark(memory, places[0]) : "";
    }
    const warps = kind.byWarp ? sideBySide(cellsOf) : null;
    const cells = new Map();
    cellsOf.forEach((own, e) => own.forEach(cell => {
      const key = `${cell.x},${cell.y}`;
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(e);
    }));
    let low = Infinity, high = -Infinity, right = 0;
    for (const own of cellsOf) for (const c of own) { low = Math.min(low, c.y); high = Math.max(high, c.y); right = Math.max(right, c.x); }
    const lines = lineList(cellsOf, low, high, warps ? 32 : kind.height ? kind.height(memory) : 0);
    const lineOf = new Map(lines.map((y, row) => [y, row]));
    Object.assign(model, { v, memory, kind, layout, shape, total, count, cols, rows: Math.ceil(count / cols), cells, cellsOf, marks, bytes, lines, lineOf, warps,
      width: kind.width(memory) || right + 1 });
  }

  // Cells of (register, thread) become cells of (warp and register, lane), used warps from left to right.
  function sideBySide(cellsOf) {
    const found = new Set();
    let registers = 1;
    for (const own of cellsOf) for (const c of own) { found.add(Arithmetic.quotient(c.y, 32)); registers = Math.max(registers, c.x + 1); }
    const names = [...found].sort((a, b) => a - b), at = new Map(names.map((warp, i) => [warp, i]));
    for (const own of cellsOf) for (const c of own) {
      c.x += registers * at.get(Arithmetic.quotient(c.y, 32));
      c.y = Arithmetic.remainder(c.y, 32);
    }
    return { names, registers };
  }

  const columnName = j => (model.warps ? `${model.warps.names[Math.floor(j / model.warps.registers)]}:${j % model.warps.registers}` : `${j}`);

  // Lines that are shown: all from the first to the last, or only the used ones when they lie far apart.
  function lineList(cellsOf, low, high, fixed) {
    if (!Number.isFinite(low)) return [0];
    if (fixed) return Array.from({ length: fixed }, (_, i) => i);
    if (high - low < MOST_LINES) return Array.from({ length: high - low + 1 }, (_, i) => low + i);
    const used = new Set();
    for (const own of cellsOf) for (const c of own) used.add(c.y);
    return [...used].sort((a, b) => a - b).slice(0, MOST_LINES);
  }

  function instruction() {
    const access = view.accesses[state.access];
    if (!access || model.error || model.memory.kind !== "banks") return null;
    const result = access.results[`${state.dtype}|${state.swizzle}`];
    if (!result || result.error) return result ? { error: result.error } : null;
    return result.instructions[Math.min(state.instruction, result.instructions.length - 1)];
  }

  // Which lanes touch which element and which cell, in the chosen phase and in the others.
  function touched() {
    const found = { elements: new Map(), cells: new Map(), clashCells: new Set(), clashElements: new Set() };
    const ins = instruction();
    if (!ins || ins.error) return null;
    const phases = ins.phases.length ? ins.phases : [{ lanes: ins.offsets.map((_, l) => l), conflicts: [] }];
    phases.forEach((phase, p) => {
      const now = state.phase === 0 || state.phase === p + 1;
      for (const lane of phase.lanes) {
        const offset = ins.offsets[lane];
        if (offset === null) continue;
        for (let b = offset; b < offset + ins.width; b++) {
          const word = Math.floor(b / model.memory.bank_bytes);
          note(found.cells, `${word % model.memory.banks},${Math.floor(word / model.memory.banks)}`, lane, now);
          for (const e of model.bytes.get(b) || []) note(found.elements, e, lane, now);
        }
      }
      if (!now) return;
      for (const [bank, , words] of phase.conflicts) for (const [offset] of words) {
        const word = Math.floor(offset / model.memory.bank_bytes);
        found.clashCells.add(`${bank},${Math.floor(word / model.memory.banks)}`);
        for (let b = word * model.memory.bank_bytes; b < (word + 1) * model.memory.bank_bytes; b++)
          for (const e of model.bytes.get(b) || []) if (found.elements.get(e)?.now) found.clashElements.add(e);
      }
    });
    return found;
  }

  function note(map, key, lane, now) {
    const known = map.get(key) || { lanes: [], now: false };
    if (now && !known.lanes.includes(lane)) known.lanes.push(lane);
    known.now = known.now || now;
    map.set(key, known);
  }

  function draw() {
    by("trouble").hidden = !model.error;
    by("trouble").textContent = model.error ? `${state.dtype}, ${state.swizzle}: ${model.error}` : "";
    for (const id of ["logical", "physical"]) by(id).hidden = Boolean(model.error);
    by("layout").firstChild.textContent = model.error ? "" : model.v.text;
    if (model.error) { by("status").textContent = ""; by("verdict").replaceChildren(); by("phases").hidden = true; return; }
    const access = touched();
    const chosen = new Set(model.cellsOf[state.element].map(c => `${c.x},${c.y}`));
    const tint = e => colours[`--t${Math.floor(e / model.cols) % TINTS}`];
    const colours = {};
    for (const name of ["--lit", "--lit-ink", "--other", "--clash", "--clash-fill", "--dim", "--dim-ink", "--ink", "--mark", ...Array.from({ length: TINTS }, (_, i) => `--t${i}`)]) colours[name] = colour(name);
    const paint = (hit, clash, plain) => {
      if (!access) return plain;
      if (!hit) return { fill: colours["--dim"], ink: colours["--dim-ink"], text: "" };
      if (!hit.now) return { fill: colours["--other"], ink: colours["--ink"], text: "" };
      const text = hit.lanes.length > 3 ? `${hit.lanes[0]}..${hit.lanes[hit.lanes.length - 1]}` : hit.lanes.join(" ");
      return clash ? { fill: colours["--clash-fill"], ink: colours["--ink"], text, frame: colours["--clash"] } : { fill: colours["--lit"], ink: colours["--lit-ink"], text };
    };
    const share = n => Math.max(24, Math.min(64, n));
    const ratio = Math.max(0.7, Math.min(1.4, share(model.cols) / share(model.width)));
    document.documentElement.style.setProperty("--split", `minmax(0, ${ratio}fr) minmax(0, 1fr)`);
    const shape = model.shape, flat = shape.length > 2;
    const selected = new Set([state.element]);
    logical.show({
      rows: model.rows, cols: model.cols,
      rowName: i => (flat ? leading(i * model.cols) : shape.length < 2 ? `${i * model.cols}` : `${i}`),
      colName: j => `${j}`,
      xLabel: shape.length < 2 ? "element" : flat ? "last dimensions" : "dimension 1", yLabel: shape.length < 2 ? "" : flat ? "first dimensions" : "dimension 0",
      title: (i, j) => describeElement(i * model.cols + j),
      cell(i, j) {
        const e = i * model.cols + j;
        if (e >= model.count) return null;
        const base = paint(access?.elements.get(e), access?.clashElements.has(e), { fill: tint(e), text: model.marks[e] });
        return selected.has(e) ? { ...base, frame: colours["--mark"] } : base;
      },
    });
    physical.show({
      rows: model.lines.length, cols: model.width, ruleAcross: model.warps?.registers,
      rowName: i => `${model.lines[i]}`, colName: columnName,
      xLabel: model.kind.xLabel(model.memory), yLabel: model.kind.yLabel(model.memory),
      title: (i, j) => describeCell(j, model.lines[i]),
      cell(i, j) {
        const key = `${j},${model.lines[i]}`, own = model.cells.get(key);
        if (!own && !access?.cells.has(key)) return null;
        const plain = own ? { fill: tint(own[0]), text: cellText(own) } : null;
        const base = paint(access?.cells.get(key), access?.clashCells.has(key), plain);
        return chosen.has(key) ? { ...(base || { fill: colours["--dim"] }), fill: access ? base.fill : colours["--lit"], ink: access ? base.ink : colours["--lit-ink"], frame: colours["--mark"] } : base;
      },
    });
    explain();
    phase(access);
    legend(Boolean(access));
  }

  function leading(e) {
    const coord = coordinate(e, model.shape);
    let inner = 1, d = model.shape.length;
    while (d > 0 && inner < model.cols) inner *= model.shape[--d];
    return coord.slice(0, d).join(",");
  }

  const cellText = own => coordinate(own[0], model.shape).join(",") + (own.length > 1 && own.some(e => e !== own[0]) ? "+" : "");
  const describeElement = e => (e < model.count ? `element (${coordinate(e, model.shape).join(", ")})` : "");

  function describeCell(x, y) {
    const own = [...new Set(model.cells.get(`${x},${y}`) || [])];
    const names = own.slice(0, 8).map(e => `(${coordinate(e, model.shape).join(", ")})`).join(" ");
    return `${model.kind.xLabel(model.memory)} ${columnName(x)}, ${model.kind.yLabel(model.memory)} ${y}: ${own.length ? names + (own.length > 8 ? ` and ${own.length - 8} more` : "") : "no element"}`;
  }

  function explain() {
    const { steps, places } = Arithmetic.evaluate(model.layout, coordinate(state.element, model.shape));
    const rows = steps.map(s => [s.name, s.text]);
    model.kind.text(model.memory, places[0], model.v.bits, buffer().base).forEach(text => rows.push(["place", text]));
    by("steps").tBodies[0].replaceChildren(...rows.map(([name, text]) => { const row = element("tr"); row.append(element("td", name), element("td", text)); return row; }));
    const axes = model.layout.axes, head = element("tr");
    head.append(element("th", "copy", "n"), ...axes.map(a => element("th", a, "n")), element("th", "place"));
    by("places").tHead.replaceChildren(head);
    by("places").tBodies[0].replaceChildren(...places.slice(0, 256).map((place, i) => {
      const row = element("tr");
      row.append(element("td", `${i}`, "n"), ...axes.map(a => element("td", `${place[a]}`, "n")), element("td", model.kind.text(model.memory, place, model.v.bits, buffer().base).slice(-1)[0]));
      return row;
    }));
    const copies = places.length > 1 ? `, ${places.length} copies` : "";
    by("status").textContent = `element (${coordinate(state.element, model.shape).join(", ")})${copies}: ${model.kind.text(model.memory, places[0], model.v.bits, buffer().base).slice(-1)[0]}`;
    by("element").value = coordinate(state.element, model.shape).join(", ");
    if (model.count < model.total) by("status").textContent += ` (the page shows the first ${model.count.toLocaleString("en")} of ${model.total.toLocaleString("en")} elements)`;
  }

  function phase(access) {
    const ins = instruction(), lines = [];
    by("phases").hidden = !access || ins.phases.length < 2;
    if (ins?.error) lines.push(element("p", `this access: ${ins.error}`, "clash"));
    if (access) {
      by("phase").max = ins.phases.length;
      by("phase").value = state.phase;
      const now = ins.phases[state.phase - 1];
      by("phase-name").textContent = now ? `${state.phase} of ${ins.phases.length}: lanes ${ranges(now.lanes)}, ${plural(now.wavefronts, "wavefront")}` : `all ${ins.phases.length} phases`;
      by("phase").setAttribute("aria-valuetext", by("phase-name").textContent);
      lines.push(ins.wavefronts === null ? element("p", `unknown: ${ins.reason}`, "clash")
        : element("p", `${plural(ins.wavefronts, "wavefront")}, ${ins.ideal} ideal, ${ins.excess} excess (${ins.status}, ${view.chip})`, ins.excess ? "clash" : "fine"));
      if (ins.reason && ins.wavefronts !== null) lines.push(element("p", ins.reason, "soft"));
      const shown = now ? [[state.phase, now]] : ins.phases.map((p, i) => [i + 1, p]);
      const met = shown.flatMap(([number, p]) => meetings(number, p));
      for (const text of met.slice(0, 4)) lines.push(element("p", text, "clash"));
      if (met.length > 4) {
        const more = element("details", undefined, "clash");
        more.open = by("verdict").querySelector("details")?.open ?? false;
        more.append(element("summary", `and ${plural(met.length - 4, "more meeting")}`), ...met.slice(4).map(text => element("p", text)));
        lines.push(more);
      }
    }
    by("verdict").replaceChildren(...lines);
  }

  // One sentence for all banks of a phase on which the same lanes meet.
  function meetings(number, phase) {
    const found = new Map();
    for (const [bank, ways, words] of phase.conflicts) {
      const key = JSON.stringify(words.map(([, lanes]) => lanes));
      if (!found.has(key)) found.set(key, { banks: [], ways, words });
      found.get(key).banks.push(bank);
    }
    return [...found.values()].map(({ banks, ways, words }) => {
      const alone = words.every(([, lanes]) => lanes.length === 1);
      const who = alone ? `lanes ${ranges(words.map(([, lanes]) => lanes[0]).sort((a, b) => a - b))}` : words.map(([, lanes]) => `lanes ${ranges(lanes)}`).join(" against ");
      const bytes = words.slice(0, 6).map(([offset]) => offset - buffer().base).join(", ");
      return `phase ${number}, bank${banks.length > 1 ? "s" : ""} ${ranges(banks)}: ${ways} meet: ${who} (bank ${banks[0]}: bytes ${bytes}${words.length > 6 ? ", ..." : ""})`;
    });
  }

  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

  function legend(access) {
    const keys = access ? [["--lit", "touched in this phase (numbers are lanes)"], ["--clash-fill", "lanes meet on the bank"], ["--other", "touched in another phase"], ["--dim", "not touched"]]
      : [["--lit", "place of the chosen element, copies included"], ["--t1", "colours repeat with the row of the logical tile, in both grids"]];
    by("legend").replaceChildren(...keys.flatMap(([name, text]) => { const key = element("span", "", "key"); key.style.background = `var(${name})`; return [key, document.createTextNode(text)]; }));
  }

  function choose(e) {
    if (e < 0 || e >= model.count) return;
    state.element = e;
    logical.at = { row: Math.floor(e / model.cols), col: e % model.cols };
    draw();
    remember();
  }

  function choosePlace(row, col) {
    const own = model.cells.get(`${col},${model.lines[row]}`);
    if (own) choose(own[0]);
    else { draw(); by("status").textContent = describeCell(col, model.lines[row]); }
  }

  function options(id, items, chosen) {
    by(id).replaceChildren(...items.map(([value, text, off]) => { const o = element("option", text); o.value = value; o.disabled = Boolean(off); o.selected = `${value}` === `${chosen}`; return o; }));
  }

  function fill() {
    const b = buffer(), key = `${state.dtype}|${state.swizzle}`;
    options("buffer", view.buffers.map((x, i) => [i, x.name]), state.buffer);
    by("for-buffer").hidden = view.buffers.length < 2;
    options("dtype", b.dtypes.map(d => [d, d]), state.dtype);
    options("swizzle", b.swizzles.map(s => [s, b.variants[`${state.dtype}|${s}`].error ? `${s} (not possible)` : s]), state.swizzle);
    options("memory", b.memories.map(m => [m, view.memories[m].label]), state.memory);
    const accesses = accessesOf();
    options("access", [[-1, "none"], ...accesses.map(([a, i]) => [i, a.results[key]?.error ? `${a.name} (not possible)` : a.name])], state.access);
    by("access").parentElement.hidden = !accesses.length || view.memories[state.memory].kind !== "banks";
    const found = view.accesses[state.access]?.results[key]?.instructions || [];
    options("instruction", found.map((x, i) => [i, x.label]), state.instruction);
    by("for-instruction").hidden = found.length < 2 || by("access").parentElement.hidden;
  }

  function refresh(rebuild) {
    if (rebuild) build();
    if (!model.error && state.element >= model.count) state.element = 0;
    if (!model.error) logical.at = { row: Math.floor(state.element / model.cols), col: state.element % model.cols };
    fill();
    draw();
    remember();
  }

  function start(b) {
    state.buffer = b;
    const found = view.buffers[b];
    Object.assign(state, { dtype: found.dtype, swizzle: found.swizzle, memory: found.memory, access: -1, instruction: 0, phase: 0, element: 0 });
  }

  // The choices stand in the address of the page, so that a link or a reload shows the same.
  function remember() {
    const parts = new URLSearchParams({ buffer: state.buffer, dtype: state.dtype, swizzle: state.swizzle, place: state.memory, access: state.access, instruction: state.instruction, phase: state.phase, element: state.element });
    try { history.replaceState(null, "", `#${parts}`); } catch { /* some browsers forbid it for files; nothing is lost but the link */ }
  }

  // The access with which a page opens: the one with the most excess, the first of equal ones.
  function worst() {
    const excess = ([a]) => a.results[`${state.dtype}|${state.swizzle}`]?.instructions?.[0]?.excess ?? 0;
    return accessesOf().reduce((best, one) => (!best || excess(one) > excess(best) ? one : best), null)?.[1] ?? -1;
  }

  function recall() {
    const found = new URLSearchParams(location.hash.slice(1)), number = (name, limit) => { const n = Number(found.get(name)); return found.has(name) && Number.isInteger(n) && n >= 0 && n < limit ? n : null; };
    start(number("buffer", view.buffers.length) ?? 0);
    const b = buffer();
    if (b.dtypes.includes(found.get("dtype"))) state.dtype = found.get("dtype");
    if (b.swizzles.includes(found.get("swizzle"))) state.swizzle = found.get("swizzle");
    if (b.memories.includes(found.get("place"))) state.memory = found.get("place");
    const access = number("access", view.accesses.length);
    if (access !== null && view.accesses[access].buffer === b.name) state.access = access;
    else if (!found.has("access")) state.access = worst();
    state.instruction = number("instruction", 1 << 20) ?? 0;
    state.phase = number("phase", 1 << 10) ?? 0;
    state.element = number("element", MOST) ?? 0;
  }

  by("buffer").addEventListener("change", event => { start(Number(event.target.value)); refresh(true); });
  for (const name of ["dtype", "swizzle", "memory"])
    by(name).addEventListener("change", event => { state[name] = event.target.value; state.phase = 0; refresh(true); });
  for (const name of ["access", "instruction"])
    by(name).addEventListener("change", event => { state[name] = Number(event.target.value); state.phase = 0; if (name === "access") state.instruction = 0; refresh(false); });
  by("phase").addEventListener("input", event => { state.phase = Number(event.target.value); draw(); remember(); });
  by("element").addEventListener("change", event => {
    const coord = (event.target.value.match(/-?\d+/g) || []).map(Number);
    const fits = coord.length === model.shape.length && coord.every((c, d) => c >= 0 && c < model.shape[d]);
    if (fits) choose(Arithmetic.flatten(coord, model.shape, "row"));
    else by("status").textContent = `an element of this tile is ${model.shape.length} number${model.shape.length === 1 ? "" : "s"} below (${model.shape.join(", ")})`;
  });
  by("controls").addEventListener("submit", event => event.preventDefault());
  let waiting = 0;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 80); });
  window.addEventListener("hashchange", () => { recall(); refresh(true); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  recall();
  refresh(true);
})();
