// The map: the top topics as areas, to be seen at once and followed.
import { h, name } from "../dom.js";
import { count, counted, percent } from "../format.js";
import { fullHeight, mapCells } from "./layout.js";

export class TopicMap {
  constructor(model, router) {
    this.model = model;
    this.router = router;
    this.effects = null;
    this.element = h("ul", { class: "map", "aria-label": `The top ${model.nouns.unit[1]}` });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Colour by effects on a class, as a map of unit and effect, or by top unit (null). */
  colour(effects, most) {
    this.effects = effects;
    this.most = most;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset.node : null;
    this.element.replaceChildren(...mapCells(this.model, width, height).map((cell) => this.#top(cell)));
    if (focused) this.element.querySelector(`a[data-node="${focused}"]`)?.focus();
  }

  #top(cell) {
    const item = h("li", { class: `cell${cell.inner.length ? " holds" : ""}`, vars: box(cell) });
    if (cell.node === null) {
      item.append(
        h("button", {
          type: "button",
          class: "face more-cell",
          onclick: () => this.#showAll(),
          "aria-label": `Show ${count(cell.more)} more`,
          text: `+${count(cell.more)}`,
        }),
      );
      return item;
    }
    item.append(this.#face(cell), ...cell.inner.map((part) => this.#inner(part, cell)));
    this.#tint(item, cell.node);
    return item;
  }

  /** Make the map high enough for all topics; the panel then scrolls. */
  #showAll() {
    this.element.style.setProperty("--least", `${fullHeight(this.model, this.element.clientWidth)}px`);
    this.draw();
    this.element.querySelector("a")?.focus({ preventScroll: true });
  }

  #face(cell) {
    const { model } = this;
    const known = model.hasShares;
    const low = !cell.inner.length && cell.height < 62; // only room for the label
    const size = known ? percent(model.share(cell.node)) : count(model.wordsBelow[cell.node]);
    const said = known ? `${size} of ${model.nouns.row[1]}` : counted(model.wordsBelow[cell.node], model.nouns.input);
    return h(
      "a",
      {
        class: "face",
        href: this.router.hrefNode(cell.node),
        "data-node": cell.node,
        title: `${model.label(cell.node)}: ${said}`,
      },
      this.#text(cell, cell.inner.length > 0, low ? 14 : 40),
      h("span", { class: "sr", text: `: ${said}` }),
      low ? null : h("span", { class: "share", "aria-hidden": "true", text: size }),
    );
  }

  /** A subtopic. The tree leads there by keyboard: as tab stops there would be too many. */
  #inner(part, cell) {
    const at = { ...part, x: part.x - cell.x, y: part.y - cell.y };
    const shared = this.model.hasShares && part.height >= 62;
    const item = h(
      "a",
      {
        class: "inner",
        href: this.router.hrefNode(part.node),
        tabindex: "-1",
        "aria-hidden": "true",
        title: this.model.hasShares ? `${this.model.label(part.node)}: ${percent(this.model.share(part.node))}` : this.model.label(part.node),
        vars: box(at),
      },
      this.#text(part, false, shared ? 28 : 12),
      shared ? h("span", { class: "share", text: percent(this.model.share(part.node)) }) : null,
    );
    this.#tint(item, part.node);
    return item;
  }

  /** A label that fills its cell: one word to a line where it is narrow, larger and with more words where it is large. */
  #text(cell, oneLine, taken) {
    const { model } = this;
    const label = model.label(cell.node);
    const size = Math.min(18, Math.max(12.5, Math.sqrt(cell.width * cell.height) / 12));
    const lines = Math.max(1, Math.floor((cell.height - taken) / (1.36 * size)));
    if (oneLine || lines === 1) return name(label, { class: "text one" });
    if (cell.width < 9 * size) {
      const words = label.split(", ").slice(0, lines);
      const room = Math.min(6, lines - words.length - 1);
      const further = room > 0 ? this.#more(cell.node, label).split(", ").filter(Boolean).slice(0, room) : [];
      return h(
        "span",
        { class: "text words", vars: { "--size": `${size}px` } },
        words.map((word) => name(word)),
        further.map((word) => name(word, { class: "further" })),
      );
    }
    const more = lines > 4 ? this.#more(cell.node, label) : "";
    return h(
      "span",
      { class: "text", vars: { "--size": `${size}px`, "--lines": lines } },
      name(label),
      more ? name(more, { class: "further" }) : null,
    );
  }

  /** Listed words of a unit that are not in its label. */
  #more(node, label) {
    const named = new Set(label.split(/[\s,]+/)); // a title may have phrases
    const words = this.model.features(node).map(([word]) => this.model.names[word]);
    return words.filter((word) => !named.has(word)).slice(0, 6).join(", ");
  }

  #tint(element, node) {
    const effect = this.effects?.get(node) ?? 0;
    const share = this.effects ? Math.sqrt(Math.abs(effect) / this.most) : 0.5;
    element.style.setProperty("--own", `var(--hue-${this.model.hues[node]})`);
    element.classList.toggle("coloured", this.effects !== null);
    element.classList.toggle("against", effect < 0);
    element.style.setProperty("--tint", Math.min(1, share).toFixed(3));
  }
}

const box = ({ x, y, width, height }) => ({ "--x": `${x}px`, "--y": `${y}px`, "--w": `${width}px`, "--h": `${height}px` });
