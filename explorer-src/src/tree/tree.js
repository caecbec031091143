// The tree: a canvas for nodes and links, real text for labels, one tab stop for the keyboard.
import { h, calm, name } from "../dom.js";
import { percent, counted } from "../format.js";
import { Camera, MARGIN, ROW } from "./camera.js";
import { draw } from "./draw.js";
import { keyAction } from "./keys.js";
import { layout, openToFit } from "./layout.js";

const GAP = 17; // least distance of two labels in a column, in pixels
const LEFT = 26;
const WIDEST = 250; // a label
const AFTER = [34, 80]; // room behind it for the links, at least and at most
const SHARE = 42; // room for the share behind a label
const MEASURED = 3000; // labels looked at to choose a column's width
const EDGE = 24; // how far beyond the edges of the screen is still drawn
const FINEST = 0.8; // nodes of a column nearer than this fall on one line of pixels
const GROW = 260; // milliseconds

const ruler = document.createElement("canvas").getContext("2d");

export class Tree {
  constructor(model, router) {
    this.font = getComputedStyle(document.body).fontFamily;
    this.model = model;
    this.router = router;
    this.open = new Set();
    this.untouched = true; // until the reader opens or closes something
    this.selected = null;
    this.colour = null;
    this.hovered = null;
    this.labels = new Map();
    this.widths = new Map();
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.items = h("div", { class: "items" });
    this.thumb = h("div", { class: "thumb", "aria-hidden": "true" });
    this.element = h(
      "div",
      {
        class: "tree",
        role: "tree",
        tabindex: "0",
        "aria-label": `Tree of ${counted(model.nNodes - model.nInputs, model.nouns.unit)} over ${counted(model.nInputs, model.nouns.input)}`,
        onkeydown: (event) => this.#key(event),
        onpointermove: (event) => this.#hover(event),
        onpointerleave: () => this.#setHovered(null),
        onclick: (event) => this.#click(event),
      },
      this.canvas,
      this.items,
      this.thumb,
    );
    this.active = model.roots[0] ?? null;
    this.camera = new Camera(this.element, () => this.redraw());
    this.#arrange(null, false);
    new ResizeObserver(() => this.#resize()).observe(this.element);
    document.fonts?.ready.then(() => {
      this.widths.clear();
      this.redraw();
    });
  }

  // ---- layout

  #arrange(anchor = null, animated = true) {
    const before = animated ? this.layout : null;
    const shown = before ? Float64Array.from(before.first, (_, node) => this.rowOf(node)) : null;
    this.layout = layout(this.model, this.open);
    this.place = new Map(this.layout.order.map((node, k) => [node, k]));
    const kept = shown && anchor !== null && this.isVisible(anchor) && !Number.isNaN(shown[anchor]);
    const shift = kept ? [shown[anchor], this.layout.first[anchor]] : null;
    this.from = null;
    this.grown = -Infinity;
    if (shown && !calm()) {
      // New rows grow out of the row of their nearest ancestor that was there; the anchored row stays where it is.
      const moved = shift ? shift[1] - shift[0] : 0;
      this.from = new Float64Array(this.model.nNodes);
      for (const node of this.layout.order) {
        let at = node;
        while (at >= 0 && Number.isNaN(shown[at])) at = this.model.parent[at];
        this.from[node] = at >= 0 ? shown[at] + moved : this.layout.first[node];
      }
      this.grown = performance.now();
    }
    this.#measure();
    this.camera.resize(this.layout.nRows, this.contentWidth, shift);
    this.redraw();
  }

  isVisible(node) {
    return !Number.isNaN(this.layout.first[node]);
  }

  /** Open as much as the window holds, and the way to what is selected. */
  #openToFit() {
    const rows = Math.floor((this.element.clientHeight - 2 * MARGIN) / ROW) + 1;
    const fits = (open) => {
      const widest = this.#widest(layout(this.model, open).order);
      const columns = widest.filter((width) => width > 0);
      return columns.reduce((a, b) => a + b + AFTER[0], LEFT) <= this.element.clientWidth;
    };
    this.tight = true;
    this.open = openToFit(this.model, rows, fits);
    if (this.selected !== null) this.model.path(this.selected).forEach((node) => this.open.add(node));
    this.#arrange(null, false);
  }

  /** Columns as wide as their labels; where they do not all fit, without shares and closer together. */
  #measure() {
    this.tight = false;
    this.#place();
    this.tight = this.contentWidth > this.element.clientWidth;
    if (this.tight) this.#place();
    this.element.classList.toggle("tight", this.tight);
    for (const item of this.labels.values()) item.width = null;
  }

  /** Room that the labels of each level need. */
  #widest(order) {
    const { model } = this;
    const widest = new Float64Array(model.nLevels + 1);
    for (const node of order.slice(0, MEASURED)) {
      const width = this.radius(node) + this.#labelRoom(node);
      widest[model.level[node]] = Math.max(widest[model.level[node]], width);
    }
    return widest;
  }

  #place() {
    const { model } = this;
    const widest = this.#widest(this.layout.order);
    const columns = widest.filter((width) => width > 0);
    const labels = columns.reduce((a, b) => a + b, LEFT);
    const room = (this.element.clientWidth - labels) / Math.max(1, columns.length);
    const after = Math.max(AFTER[0], Math.min(AFTER[1], room));
    this.left = new Float64Array(model.nLevels + 1);
    let x = LEFT;
    for (let level = model.nLevels; level >= 0; level -= 1) {
      this.left[level] = x;
      if (widest[level]) x += widest[level] + after;
    }
    this.contentWidth = labels + columns.length * AFTER[0] > this.element.clientWidth ? x : this.element.clientWidth;
  }

  #labelRoom(node) {
    const shared = this.model.isUnit(node) && (!this.tight || this.model.parent[node] < 0);
    return Math.min(WIDEST, this.#textWidth(node) + 14 + (shared ? SHARE : 0));
  }

  /** Width of a node's label alone, in pixels. */
  #textWidth(node) {
    let width = this.widths.get(node);
    if (width === undefined) {
      ruler.font = `${node >= this.model.nInputs && this.model.parent[node] < 0 ? 600 : 400} 13.5px ${this.font}`;
      width = ruler.measureText(this.model.label(node)).width;
      this.widths.set(node, width);
    }
    return width;
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.ratio = ratio;
    if (this.untouched) this.#openToFit();
    this.#measure();
    this.camera.resize(this.layout.nRows, this.contentWidth, null);
    if (this.selected !== null) this.show(this.selected, { centre: true });
    this.redraw();
  }

  /** Row of a visible node at this moment of its growth. */
  rowOf(node) {
    const end = this.layout.first[node];
    if (!this.from || this.progress >= 1) return end;
    return this.from[node] + (end - this.from[node]) * this.progress;
  }

  xOf(node) {
    return this.left[this.model.level[node]] + this.camera.x;
  }

  /** Screen y of a node. A parent stays in view as long as any of its rows is, as a heading does. */
  yOf(node) {
    const y = this.camera.screenY(this.rowOf(node));
    if (y >= MARGIN || this.progress < 1 || !this.open.has(node)) return y;
    return Math.min(MARGIN, this.camera.screenY(this.layout.last[node]));
  }

  radius(node) {
    if (!this.model.isUnit(node)) return 3;
    return 4.5 + 5 * Math.sqrt(Math.min(1, this.model.share(node) * 3));
  }

  /** The node itself if it is to be seen, else its nearest ancestor that is; null for a word in no group. */
  visible(node) {
    let at = node;
    while (at >= 0 && !this.isVisible(at)) at = this.model.parent[at];
    return at >= 0 ? at : null;
  }

  // ---- drawing

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame((now) => {
      this.frame = 0;
      const t = Math.min(1, Math.max(0, (now - this.grown) / GROW));
      this.progress = 1 - (1 - t) ** 3;
      this.#look();
      this.#labels();
      draw(this);
      this.#thumb();
      if (t < 1) this.redraw();
    });
  }

  /**
   * Find what is on the screen: `seen`, pairs of node and y, and `links`, for each open node in reach its first and last
   * child in reach. Whole branches beyond the edges are passed over, and of nodes on one line of pixels one is taken, so
   * that the work goes by the size of the screen and not of the tree.
   */
  #look() {
    const { camera, layout: found, model, open } = this;
    const bottom = camera.height + EDGE;
    const drawn = new Float64Array(model.nLevels + 1).fill(-Infinity);
    const wanted = new Set();
    for (const node of [this.active, this.selected, this.hovered]) {
      if (node !== null) [node, ...model.path(node)].forEach((at) => wanted.add(at));
    }
    this.seen = [];
    this.links = [];
    const visit = (nodes, parent) => {
      let from = nodes.length;
      let to = 0;
      for (let k = firstBelow(nodes, found.last, camera.rowAt(-EDGE)); k < nodes.length; k += 1) {
        const node = nodes[k];
        if (camera.screenY(found.first[node]) > bottom) break;
        from = Math.min(from, k);
        to = k;
        const y = this.yOf(node);
        const level = model.level[node];
        if (wanted.has(node) || Math.abs(y - drawn[level]) >= FINEST) {
          drawn[level] = y;
          this.seen.push([node, y]);
        }
        if (!open.has(node)) continue;
        const high = (found.last[node] - found.first[node]) * ROW * camera.k;
        const covered = high < FINEST && Math.abs(y - drawn[level - 1]) < FINEST;
        if (!covered || wanted.has(node)) visit(model.children[node], node);
      }
      // One more at each end, whose link leads out of sight.
      if (parent >= 0 && from <= to) this.links.push([parent, Math.max(0, from - 1), Math.min(nodes.length - 1, to + 1)]);
    };
    visit(model.roots, -1);
  }

  /** Choose the nodes that have room for a label: the important first, no two closer than a line. */
  #chosen() {
    const { camera, model, seen } = this;
    if (ROW * camera.k >= GAP && this.progress >= 1) return seen;
    const weight = (node) =>
      node === this.active || node === this.selected ? 1e9 : node === this.hovered ? 1e8 : model.wordsBelow[node] + model.share(node);
    const near = [...seen].sort((a, b) => weight(b[0]) - weight(a[0]));
    const taken = new Map(); // column → occupied lines
    return near.filter(([node, y]) => {
      const level = model.level[node];
      const line = Math.floor(y / GAP);
      const column = taken.get(level) ?? new Map();
      taken.set(level, column);
      for (const at of [line - 1, line, line + 1]) {
        if (column.has(at) && Math.abs(column.get(at) - y) < GAP) return false;
      }
      column.set(line, y);
      return true;
    });
  }

  #labels() {
    const chosen = new Map(this.#chosen());
    for (const [node, item] of this.labels) {
      if (!chosen.has(node)) {
        item.element.remove();
        this.labels.delete(node);
      }
    }
    for (const [node, y] of chosen) {
      let item = this.labels.get(node);
      if (!item) {
        item = this.#label(node);
        this.labels.set(node, item);
        this.items.append(item.element);
      }
      this.#update(node, item, y);
    }
    if (this.active !== null && this.labels.has(this.active)) {
      this.element.setAttribute("aria-activedescendant", `node-${this.active}`);
    } else this.element.removeAttribute("aria-activedescendant");
  }

  #label(node) {
    const { model } = this;
    const above = model.parent[node];
    const siblings = above < 0 ? model.roots : model.children[above];
    const unit = model.isUnit(node);
    const text = name(model.label(node), { class: "text" });
    const element = h(
      "div",
      {
        id: `node-${node}`,
        class: `item ${unit ? `unit level-${model.nLevels - model.level[node]}` : "word"}`,
        role: "treeitem",
        "data-node": node,
        "aria-level": model.path(node).length + 1,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.indexOf(node) + 1,
      },
      text,
      unit && model.payload.units.share.length
        ? h("span", { class: "share", text: percent(model.share(node)) })
        : null,
      model.isLoose(node) ? h("span", { class: "sr" }, ", loosely tied to ", name(model.label(above))) : null,
    );
    return { element, expanded: null, selected: null };
  }

  #update(node, item, y) {
    const { element } = item;
    const x = this.xOf(node) + this.radius(node) + 5;
    element.style.transform = `translate(${x.toFixed(1)}px, ${(y - 12).toFixed(1)}px)`;
    const expanded = this.model.children[node].length ? this.open.has(node) : null;
    if (expanded !== item.expanded) {
      item.expanded = expanded;
      if (expanded !== null) element.setAttribute("aria-expanded", String(expanded));
    }
    const selected = node === this.selected;
    if (selected !== item.selected) {
      item.selected = selected;
      element.setAttribute("aria-selected", String(selected));
    }
    element.classList.toggle("active", node === this.active);
  }

  /** Width of a shown label, in pixels; 0 if it is not shown. */
  labelWidth(node) {
    const item = this.labels.get(node);
    if (!item) return 0;
    if (!item.width) item.width = item.element.offsetWidth;
    return item.width;
  }

  #thumb() {
    const { camera } = this;
    const long = this.layout.nRows * ROW * camera.k + 56;
    const share = camera.height / long;
    this.thumb.hidden = share >= 1;
    if (share >= 1) return;
    const size = Math.max(28, share * camera.height);
    const at = Math.min(1, Math.max(0, (28 - camera.y) / (long - camera.height)));
    this.thumb.style.height = `${size}px`;
    this.thumb.style.transform = `translateY(${at * (camera.height - size)}px)`;
  }

  // ---- acting

  toggle(node, to = !this.open.has(node)) {
    if (!this.model.children[node]?.length || to === this.open.has(node)) return;
    this.untouched = false;
    if (to) this.open.add(node);
    else {
      this.open.delete(node);
      if (this.active !== null && this.model.path(this.active).includes(node)) this.active = node;
    }
    this.#arrange(node);
  }

  /** Show the units in the model's new order. */
  reorder() {
    if (this.untouched) this.#openToFit();
    else this.#arrange(null);
    this.camera.fit();
  }

  /** Show all nodes down to a level; 0 shows the words too. */
  expandTo(level) {
    this.untouched = false;
    this.open.clear();
    for (let node = this.model.nInputs; node < this.model.nNodes; node += 1) {
      if (this.model.level[node] > level) this.open.add(node);
    }
    if (this.active !== null) this.active = this.visibleAfter(this.active);
    this.#arrange(this.active);
    if (this.active !== null && this.isVisible(this.active)) this.show(this.active, { centre: true });
  }

  visibleAfter(node) {
    const path = [node, ...this.model.path(node)];
    return path.reverse().find((at, k) => k === path.length - 1 || !this.open.has(at)) ?? node;
  }

  select(node) {
    this.selected = node;
    if (node !== null) {
      const path = this.model.path(node);
      const closed = path.filter((at) => !this.open.has(at));
      closed.forEach((at) => this.open.add(at));
      const inTree = path.length > 0 || this.model.isUnit(node);
      if (inTree) this.active = node;
      if (closed.length) this.#arrange(this.visible(path.at(-1)));
      if (inTree) this.show(node, { centre: true, always: closed.length > 0 });
    }
    this.redraw();
  }

  show(node, options) {
    if (!this.isVisible(node)) return;
    const left = this.left[this.model.level[node]];
    const right = left + this.radius(node) + this.#labelRoom(node) + 8;
    this.camera.reveal(this.layout.first[node], left - 10, right, options);
  }

  activate(node) {
    if (node === null || node === undefined) return;
    this.active = node;
    this.show(node, {});
    this.redraw();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.active === null) return;
    if (keyAction(this, event.key)) event.preventDefault();
  }

  #nodeAt(event) {
    const item = event.target.closest?.("[data-node]");
    if (item) return Number(item.dataset.node);
    const box = this.element.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    let best = null;
    let nearest = 14;
    for (const [node, at] of this.seen ?? []) {
      const away = Math.hypot(this.xOf(node) - x, at - y);
      if (away < nearest) [best, nearest] = [node, away];
    }
    return best;
  }

  #hover(event) {
    if (event.pointerType === "touch" || event.buttons) return;
    this.#setHovered(this.#nodeAt(event));
  }

  #setHovered(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.element.classList.toggle("pointing", node !== null);
    this.redraw();
  }

  #click(event) {
    const node = this.#nodeAt(event);
    if (node === null) return;
    this.active = node;
    const onDot = !event.target.closest?.("[data-node]");
    if (onDot && this.model.children[node].length) this.toggle(node);
    else {
      if (!this.open.has(node)) this.toggle(node, true);
      this.router.go(this.router.hrefNode(node));
    }
    this.redraw();
  }
}

/** First of some nodes, in the order of their rows, that reaches down to a row. */
function firstBelow(nodes, last, row) {
  let low = 0;
  let high = nodes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (last[nodes[middle]] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}
