// A grid of cells on a canvas: drawn sharp, moved through by mouse and by keyboard.
class Grid {
  constructor(canvas, onMove) {
    this.canvas = canvas;
    this.onMove = onMove;
    this.spec = null;
    this.at = { row: 0, col: 0 };
    canvas.addEventListener("click", event => this.pick(event));
    canvas.addEventListener("mousemove", event => this.hover(event));
    canvas.addEventListener("keydown", event => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
  }

  // spec: rows, cols, rowName(i), colName(j), xLabel, yLabel, ruleAcross (columns between thick lines), cell(i, j) -> {fill, ink, text, frame, dot}
  show(spec) {
    this.spec = spec;
    this.at.row = Math.min(this.at.row, Math.max(spec.rows - 1, 0));
    this.at.col = Math.min(this.at.col, Math.max(spec.cols - 1, 0));
    const room = this.canvas.parentElement.clientWidth - 2;
    const names = [0, spec.rows - 1].map(i => spec.rowName(i).length);
    this.left = 22 + 7 * Math.max(...names);
    this.top = 34;
    this.w = Math.max(spec.cols > 128 ? 2.5 : 5, Math.min(spec.cols <= 12 ? 60 : 38, (room - this.left - 2) / spec.cols));
    if (this.w > 6) this.w = Math.floor(this.w * 4) / 4;
    this.h = spec.cols > 128 ? 6 : spec.rows <= 48 ? 20 : spec.rows <= 256 ? 14 : spec.rows <= 512 ? 9 : 6;
    // On a low grid the name of the rows stands behind that of the columns; turned, it would be cut.
    this.low = this.h * spec.rows + 24 < 6.5 * spec.yLabel.length;
    const heading = spec.xLabel.length + (this.low ? spec.yLabel.length + 6 : 0);
    const width = Math.ceil(this.left + Math.max(this.w * spec.cols, 7 * heading + 20) + 2), height = Math.ceil(this.top + this.h * spec.rows + 2);
    const scale = Math.min(window.devicePixelRatio || 1, 16000 / width, 16000 / height);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.scale = scale;
    this.draw();
  }

  draw() {
    const spec = this.spec;
    if (!spec) return;
    const c = this.canvas.getContext("2d"), colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const ink = colour("--ink"), soft = colour("--soft"), line = colour("--line"), paper = colour("--paper"), mark = colour("--mark");
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const gap = this.w >= 9 && this.h >= 9 ? 1 : 0;
    c.textBaseline = "middle";
    const framed = [], cells = [];
    let longest = "";
    for (let i = 0; i < spec.rows; i++) for (let j = 0; j < spec.cols; j++) {
      const cell = spec.cell(i, j);
      cells.push(cell);
      if (cell?.text && cell.text.length > longest.length) longest = cell.text;
    }
    const size = this.fontSize(c, longest, this.w - gap - 0.5, Math.min(11, this.h - 3));
    c.textAlign = "center";
    for (let i = 0; i < spec.rows; i++) for (let j = 0; j < spec.cols; j++) {
      const cell = cells[i * spec.cols + j];
      const x = this.left + j * this.w, y = this.top + i * this.h;
      c.fillStyle = cell ? cell.fill : line;
      c.globalAlpha = cell ? 1 : 0.25;
      c.fillRect(x, y, this.w - gap, this.h - gap);
      c.globalAlpha = 1;
      if (!cell) continue;
      if (cell.frame) framed.push([x, y, cell.frame]);
      if (cell.text && size) { c.fillStyle = cell.ink || ink; c.fillText(cell.text, x + (this.w - gap) / 2, y + (this.h - gap) / 2 + 0.5); }
    }
    for (const [x, y, stroke] of framed) this.frame(c, x, y, stroke, gap);
    c.strokeStyle = ink;
    c.lineWidth = 1.2;
    if (spec.ruleAcross) for (let j = spec.ruleAcross; j < spec.cols; j += spec.ruleAcross) {
      c.beginPath(); c.moveTo(this.left + j * this.w - 0.5, this.top); c.lineTo(this.left + j * this.w - 0.5, this.top + spec.rows * this.h); c.stroke();
    }
    this.axes(c, soft, ink);
    if (document.activeElement === this.canvas) {
      const x = this.left + this.at.col * this.w, y = this.top + this.at.row * this.h;
      c.lineWidth = 2.5; c.strokeStyle = paper; c.strokeRect(x - 1.5, y - 1.5, this.w - gap + 3, this.h - gap + 3);
      c.lineWidth = 2; c.strokeStyle = mark; c.strokeRect(x - 2.5, y - 2.5, this.w - gap + 5, this.h - gap + 5);
    }
  }

  frame(c, x, y, stroke, gap) {
    c.lineWidth = this.w > 12 ? 2 : 1.4;
    c.strokeStyle = stroke;
    c.strokeRect(x + 0.8, y + 0.8, this.w - gap - 1.6, this.h - gap - 1.6);
  }

  // One size for all cells, in which the longest text fits; 0 (no texts) below 6 pixels: some numbers here and none
  // there would look like a pattern.
  fontSize(c, longest, room, most) {
    for (let size = most; size >= 6; size -= 0.5) {
      c.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
      if (c.measureText(longest).width <= room) return size;
    }
    return 0;
  }

  axes(c, soft, ink) {
    const spec = this.spec;
    c.font = '11px system-ui, "DejaVu Sans", sans-serif';
    c.fillStyle = ink;
    c.textAlign = "left";
    c.fillText(`${spec.xLabel} \u2192${this.low ? `   ${spec.yLabel} \u2193` : ""}`, this.left, 9);
    if (!this.low) this.turned(c);
    c.fillStyle = soft;
    c.font = '10px system-ui, "DejaVu Sans", sans-serif';
    const widest = Math.max(...[0, spec.cols - 1].map(j => c.measureText(spec.colName(j)).width)) + 5;
    const stepX = nice(Math.ceil(widest / this.w)), stepY = nice(Math.ceil(12 / this.h));
    c.textAlign = "center";
    for (let j = 0; j < spec.cols; j += stepX) c.fillText(spec.colName(j), this.left + (j + 0.5) * this.w, this.top - 9);
    c.textAlign = "right";
    for (let i = 0; i < spec.rows; i += stepY) c.fillText(spec.rowName(i), this.left - 5, this.top + (i + 0.5) * this.h);
  }

  turned(c) {
    const spec = this.spec;
    c.save();
    c.translate(8, Math.max(this.top + Math.min(this.h * spec.rows, 420) / 2, 3.25 * spec.yLabel.length + 2));
    c.rotate(-Math.PI / 2);
    c.textAlign = "center";
    c.fillText(spec.yLabel, 0, 0);
    c.restore();
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const col = Math.floor((event.clientX - box.left - this.left) / this.w), row = Math.floor((event.clientY - box.top - this.top) / this.h);
    const inside = this.spec && row >= 0 && col >= 0 && row < this.spec.rows && col < this.spec.cols;
    return inside ? { row, col } : null;
  }

  pick(event) {
    const at = this.under(event);
    if (!at) return;
    this.at = at;
    this.onMove(at.row, at.col);
  }

  hover(event) {
    const at = this.under(event);
    this.canvas.title = at && this.spec.title ? this.spec.title(at.row, at.col) : "";
  }

  key(event) {
    const spec = this.spec, at = { ...this.at };
    const page = 8;
    const moves = {
      ArrowLeft: () => at.col--, ArrowRight: () => at.col++, ArrowUp: () => at.row--, ArrowDown: () => at.row++,
      Home: () => { at.col = 0; }, End: () => { at.col = spec.cols - 1; }, PageUp: () => { at.row -= page; }, PageDown: () => { at.row += page; },
      Enter: () => {}, " ": () => {},
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
    at.row = Math.max(0, Math.min(spec.rows - 1, at.row));
    at.col = Math.max(0, Math.min(spec.cols - 1, at.col));
    this.at = at;
    this.onMove(at.row, at.col);
    this.reveal();
  }

  // Scrolls the panel, not the page, until the cell at the cursor is in sight.
  reveal() {
    const panel = this.canvas.parentElement, x = this.left + this.at.col * this.w, y = this.top + this.at.row * this.h;
    if (x < panel.scrollLeft + this.left) panel.scrollLeft = x - this.left;
    if (x + this.w > panel.scrollLeft + panel.clientWidth) panel.scrollLeft = x + this.w - panel.clientWidth + 4;
    if (y < panel.scrollTop) panel.scrollTop = y - this.top;
    if (y + this.h > panel.scrollTop + panel.clientHeight) panel.scrollTop = y + this.h - panel.clientHeight + 4;
  }
}

function nice(step) {
  for (const value of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) if (value >= step) return value;
  return step;
}
