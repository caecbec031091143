// What part of the tree is seen. Rows are zoomed, columns are not: labels keep their size, as on a map.
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { calm } from "../dom.js";

export const ROW = 30; // pixels between rows at scale 1
export const MARGIN = 36;
const LARGEST = 1.5;

export class Camera {
  /** @param element takes the gestures; @param changed is called after each */
  constructor(element, changed) {
    this.element = element;
    this.changed = changed;
    this.k = 1;
    this.x = 0;
    this.y = MARGIN;
    this.nRows = 1;
    this.contentWidth = 0;
    this.flight = 0;
    this.zoom = zoom()
      .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
      .scaleExtent([1e-4, LARGEST])
      .constrain((transform) => this.#constrain(transform))
      .on("zoom", ({ transform }) => {
        this.k = transform.k;
        this.x = transform.x;
        this.y = transform.y;
        this.changed();
      });
    this.selection = select(element).call(this.zoom).on("dblclick.zoom", null);
    element.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey) return; // pinch and ctrl + wheel zoom
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? this.height : 1;
        this.moveBy(-event.deltaX * unit, -event.deltaY * unit);
      },
      { passive: false },
    );
  }

  get width() {
    return this.element.clientWidth;
  }

  get height() {
    return this.element.clientHeight;
  }

  /** Screen y of a row, and back. */
  screenY(row) {
    return this.y + row * ROW * this.k;
  }

  rowAt(y) {
    return (y - this.y) / (ROW * this.k);
  }

  get smallest() {
    return Math.min(1, (this.height - 2 * MARGIN) / Math.max(1, (this.nRows - 1) * ROW));
  }

  #constrain(transform) {
    const k = Math.max(this.smallest, Math.min(LARGEST, transform.k));
    const pannedOnly = transform.k === this.k;
    let y = transform.y;
    // Where the scale was cut off, keep what is at the middle of the screen there.
    if (k !== transform.k) y = this.height / 2 - ((this.height / 2 - this.y) / this.k) * k;
    const long = (this.nRows - 1) * ROW * k + 2 * MARGIN;
    const space = this.height - long;
    y = space >= 0 ? MARGIN : Math.min(MARGIN, Math.max(space + MARGIN, y));
    const least = Math.min(0, this.width - this.contentWidth);
    const x = Math.min(0, Math.max(least, pannedOnly ? transform.x : this.x));
    return zoomIdentity.translate(x, y).scale(k);
  }

  #set(k, x, y) {
    this.zoom.transform(this.selection, this.#constrain(zoomIdentity.translate(x, y).scale(k)));
  }

  /** Take over what the layout says; what stands at `anchor` (a pair of row before and after) stays there. */
  resize(nRows, contentWidth, anchor) {
    this.nRows = nRows;
    this.contentWidth = contentWidth;
    const y = anchor ? this.y + (anchor[0] - anchor[1]) * ROW * this.k : this.y;
    this.#set(this.k, this.x, y);
  }

  moveBy(dx, dy) {
    cancelAnimationFrame(this.flight);
    this.#set(this.k, this.x + dx, this.y + dy);
  }

  zoomBy(factor, centre = this.height / 2) {
    const k = Math.max(this.smallest, Math.min(LARGEST, this.k * factor));
    this.fly(k, this.x, centre - ((centre - this.y) / this.k) * k);
  }

  fit() {
    this.fly(this.smallest, 0, MARGIN);
  }

  /** Bring a row and a stretch of columns into view, moving no more than needed. */
  reveal(row, left, right, { centre = false, always = false } = {}) {
    const k = Math.max(this.k, Math.min(1, 0.75));
    const at = this.y + row * ROW * k;
    const free = 3 * ROW;
    let y = k === this.k ? this.y : this.height / 2 - row * ROW * k;
    if (centre && (always || at < free || at > this.height - free)) y = this.height / 2 - row * ROW * k;
    else if (k === this.k && at < free) y += free - at;
    else if (k === this.k && at > this.height - free) y += this.height - free - at;
    let x = this.x;
    if (right + x > this.width - 12) x = this.width - 12 - right;
    if (left + x < 12) x = 12 - left;
    this.fly(k, x, y);
  }

  fly(k, x, y) {
    cancelAnimationFrame(this.flight);
    const end = this.#constrain({ k, x, y });
    // The constraint keeps x where it was when the scale changes; a flight may change both.
    const goal = { k: end.k, x: Math.min(0, Math.max(Math.min(0, this.width - this.contentWidth), x)), y: end.y };
    const from = { k: this.k, x: this.x, y: this.y };
    if (calm()) return this.#jump(goal);
    const began = performance.now();
    const step = (now) => {
      const t = Math.min(1, (now - began) / 320);
      const ease = 1 - (1 - t) ** 3;
      const k = from.k * (goal.k / from.k) ** ease;
      const share = goal.k === from.k ? ease : (k - from.k) / (goal.k - from.k);
      this.#jump({ k, x: from.x + (goal.x - from.x) * share, y: from.y + (goal.y - from.y) * share });
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  /** Set all three at once: d3's own path would keep x when the scale changes. */
  #jump({ k, x, y }) {
    this.element.__zoom = zoomIdentity.translate(x, y).scale(k);
    this.k = k;
    this.x = x;
    this.y = y;
    this.changed();
  }
}
