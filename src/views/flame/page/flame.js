// Draws a call tree into an <svg>, with zoom, search and keyboard. The same in the SVG file and in the HTML page.
//
// A tree is arrays in preorder: depth, frame (index into names), total, self; in a diff also before and after.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const ROW = 18;        // height of a frame, px
const CHAR = 7.25;     // width of a character of the 12 px monospace font, px
const NARROWEST = 0.4; // frames under so many px are not drawn

function formatWeight(value, unit) {
  const sign = value < 0 ? "-" : "";
  const size = Math.abs(value);
  const scaled = (steps, word) => {
    for (const [factor, letter] of steps) {
      if (size >= factor) return `${sign}${(size / factor).toFixed(2)} ${letter}${word}`;
    }
    return `${sign}${size.toLocaleString("en")} ${word || unit.name}`;
  };
  if (unit.scale === "ns") return scaled([[1e9, "s"], [1e6, "ms"], [1e3, "us"]], "").replace(/ $/, " ns");
  if (unit.scale === "bytes") return scaled([[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]], "");
  return scaled([[1e12, "T "], [1e9, "G "], [1e6, "M "]], unit.name);
}

const percent = (part, whole) => (whole ? (100 * part / whole).toFixed(2) : "0.00") + " %";

// A search term as a function of a name: a regular expression, or the plain text where it is none.
function matcher(term) {
  if (!term) return null;
  try {
    const expression = new RegExp(term, term === term.toLowerCase() ? "i" : "");
    return name => expression.test(name);
  } catch (error) {
    return name => name.includes(term);
  }
}

class Flame {
  // options: inverted, top and bottom (px kept free), onHover(text), onZoom(node), onOpen(frame)
  constructor(svg, names, kinds, tree, unit, options) {
    Object.assign(this, { svg, names, kinds, unit, options });
    this.group = svg.querySelector("#frames") || svg.appendChild(document.createElementNS(SVG, "g"));
    this.zoomed = 0;
    this.focus = 0;
    this.match = null;
    this.group.addEventListener("click", event => this.clicked(event));
    this.group.addEventListener("mouseover", event => this.hover(this.nodeOf(event)));
    this.group.addEventListener("mouseout", () => this.hover(null));
    this.setTree(tree);
  }

  setTree(tree) {
    this.tree = tree;
    const count = tree.depth.length;
    this.end = new Uint32Array(count);      // behind the last descendant
    this.parent = new Uint32Array(count);
    this.left = new Float64Array(count);    // of the root's width
    const path = [];
    const filled = [];
    this.deepest = 0;
    for (let i = 0; i < count; ++i) {
      const depth = tree.depth[i];
      while (path.length > depth) this.end[path.pop()] = i;
      const parent = path.length ? path[path.length - 1] : 0;
      this.parent[i] = parent;
      this.left[i] = i === 0 ? 0 : filled[depth - 1];
      filled[depth] = this.left[i];
      if (depth > 0) filled[depth - 1] += tree.total[i];
      path.push(i);
      if (depth > this.deepest) this.deepest = depth;
    }
    while (path.length) this.end[path.pop()] = count;
    this.zoomed = this.zoomed < count ? this.zoomed : 0;
    this.focus = 0;
    this.draw();
  }

  height() { return (this.deepest + 1) * ROW + this.options.top + this.options.bottom; }
  name(i) { return i === 0 && this.tree.frame[0] < 0 ? "all" : this.names[this.tree.frame[i]]; }

  rowOf(depth) {
    const y = depth * ROW;
    return this.options.inverted ? this.options.top + y : this.options.top + this.deepest * ROW - y;
  }

  width() { return Math.max(200, this.svg.clientWidth || this.svg.getBoundingClientRect().width || 1200) - 20; }

  draw() {
    this.svg.removeAttribute("viewBox");
    this.svg.setAttribute("height", this.height());
    const { tree, zoomed } = this;
    const width = this.width();
    const whole = tree.total[zoomed] || 1;
    const origin = this.left[zoomed];
    const out = document.createDocumentFragment();
    const callers = [];
    for (let i = zoomed; i !== 0; ) callers.push(i = this.parent[i]);
    for (const i of callers.reverse()) out.appendChild(this.box(i, 0, width, true));
    for (let i = zoomed; i < this.end[zoomed]; ) {
      const wide = tree.total[i] / whole * width;
      if (wide < NARROWEST) {
        i = this.end[i];
        continue;
      }
      out.appendChild(this.box(i, (this.left[i] - origin) / whole * width, wide, false));
      ++i;
    }
    this.group.replaceChildren(out);
    this.mark();
  }

  box(i, x, width, faded) {
    const { tree } = this;
    const g = document.createElementNS(SVG, "g");
    g.setAttribute("class", faded ? "f faded" : "f");
    g.dataset.i = i;
    const title = g.appendChild(document.createElementNS(SVG, "title"));
    title.textContent = this.describe(i);
    const rect = g.appendChild(document.createElementNS(SVG, "rect"));
    const y = this.rowOf(tree.depth[i]);
    rect.setAttribute("x", (10 + x).toFixed(2));
    rect.setAttribute("y", y);
    rect.setAttribute("width", width.toFixed(2));
    rect.setAttribute("height", ROW - 1);
    rect.setAttribute("rx", 2);
    const [kind, opacity] = this.colour(i);
    rect.setAttribute("class", kind);
    rect.setAttribute("fill-opacity", opacity.toFixed(2));
    const room = Math.floor((width - 6) / CHAR);
    if (room >= 3) {
      const name = this.name(i);
      const text = g.appendChild(document.createElementNS(SVG, "text"));
      text.setAttribute("x", (13 + x).toFixed(2));
      text.setAttribute("y", y + 13);
      text.textContent = name.length > room ? name.slice(0, room - 2) + ".." : name;
    }
    return g;
  }

  // The class says the kind (or growth), the opacity parts neighbours (or says how much).
  colour(i) {
    const { tree } = this;
    if (tree.before) {
      const before = tree.before[i];
      const after = tree.after[i];
      const change = (after - before) / (Math.max(before, after) || 1);
      if (Math.abs(change) < 0.005) return ["same", 1];
      return [change > 0 ? "grow" : "shrink", 0.25 + 0.75 * Math.min(1, Math.abs(change))];
    }
    const name = this.name(i);
    let hash = 0;
    for (let k = 0; k < Math.min(name.length, 24); ++k) hash = (hash * 31 + name.charCodeAt(k)) >>> 0;
    return [i === 0 ? "k8" : "k" + this.kinds[tree.frame[i]], 0.72 + (hash % 29) / 100];
  }

  describe(i) {
    const { tree, unit } = this;
    const name = this.name(i);
    if (tree.before) {
      const before = tree.before[i];
      const after = tree.after[i];
      const sign = after >= before ? "+" : "";
      const relative = before ? ` (${sign}${(100 * (after - before) / before).toFixed(1)} %)` : " (new)";
      return `${name}: ${formatWeight(before, unit)} before, ${formatWeight(after, unit)} after, ` +
        `${sign}${formatWeight(after - before, unit)}${relative}`;
    }
    return `${name}: ${formatWeight(tree.total[i], unit)}, ${percent(tree.total[i], tree.total[0])} ` +
      `(self ${formatWeight(tree.self[i], unit)}, ${percent(tree.self[i], tree.total[0])})`;
  }

  nodeOf(event) {
    const g = event.target.closest(".f");
    return g ? Number(g.dataset.i) : null;
  }

  clicked(event) {
    const i = this.nodeOf(event);
    if (i === null) return;
    if (this.options.onOpen && (event.altKey || event.shiftKey)) return this.options.onOpen(this.tree.frame[i]);
    this.options.onZoom(i);
  }

  hover(i) { this.options.onHover(i === null ? "" : this.describe(i)); }

  zoom(i) {
    this.zoomed = i >= 0 && i < this.tree.depth.length ? i : 0;
    this.focus = this.zoomed;
    this.draw();
  }

  search(term) {
    this.match = matcher(term);
    this.mark();
  }

  mark() {
    for (const g of this.group.children) {
      const i = Number(g.dataset.i);
      g.classList.toggle("match", this.match !== null && i !== 0 && this.match(this.name(i)));
      g.classList.toggle("focus", i === this.focus && i !== this.zoomed);
    }
  }

  // What matches in the zoomed part, a stack counted once.
  matched() {
    let sum = 0;
    if (this.match === null) return sum;
    for (let i = Math.max(1, this.zoomed); i < this.end[this.zoomed]; ) {
      if (this.match(this.name(i))) {
        sum += this.tree.total[i];
        i = this.end[i];
      } else {
        ++i;
      }
    }
    return sum;
  }

  // Arrow keys: along the tree, whichever way it is drawn.
  move(key) {
    const i = this.focus;
    const up = this.options.inverted ? "ArrowUp" : "ArrowDown";
    let next = i;
    if (key === up) next = this.parent[i];
    else if (key === "ArrowUp" || key === "ArrowDown") {
      for (let k = i + 1; k < this.end[i]; k = this.end[k]) {  // to the widest of those called
        if (next === i || this.tree.total[k] > this.tree.total[next]) next = k;
      }
    } else if (key === "ArrowRight") {
      if (i !== 0 && this.end[i] < this.end[this.parent[i]]) next = this.end[i];
    } else if (i !== 0) {
      for (let k = this.parent[i] + 1; k < i; k = this.end[k]) next = k;
    }
    if (next < this.zoomed || next >= this.end[this.zoomed]) next = this.zoomed;
    this.focus = next;
    this.mark();
    this.hover(next);
  }
}

// "#z=12&s=malloc": zoom and search live in the address, so that Back undoes and a link shows the same.
const place = {
  read() {
    const fields = new URLSearchParams(location.hash.slice(1));
    return { zoom: Number(fields.get("z")) || 0, search: fields.get("s") || "", frame: fields.get("f"), tab: fields.get("t") || "" };
  },
  write(change) {
    const now = { ...place.read(), ...change };
    const fields = new URLSearchParams();
    if (now.tab) fields.set("t", now.tab);
    if (now.frame) fields.set("f", now.frame);
    if (now.zoom) fields.set("z", now.zoom);
    if (now.search) fields.set("s", now.search);
    if (fields.toString() !== location.hash.slice(1)) location.hash = fields.toString();
  },
};
