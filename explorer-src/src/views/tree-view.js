// The tree with its tools, and beside it the panel of what is selected.
import { h, s } from "../dom.js";
import { capital } from "../format.js";
import { lineGlyph } from "../bars.js";
import { Tree } from "../tree/tree.js";
import { Overview } from "./overview.js";
import { panel } from "./panel.js";

function icon(d) {
  return s("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d }));
}

export class TreeView {
  constructor(model, router) {
    this.model = model;
    this.router = router;
    this.tree = new Tree(model, router);
    this.overview = new Overview(model, router);
    this.panel = h("aside", { class: "panel", "aria-label": "Details", tabindex: "-1" });
    this.element = h(
      "div",
      { class: "tree-view" },
      this.#switch(),
      h("div", { class: "stage" }, this.#empty(), this.tree.element, this.#tools()),
      this.panel,
    );
    this.panelOf = undefined;
  }

  /** On a narrow screen there is room for one of map and tree. */
  #switch() {
    const pick = (text, tree) =>
      h("button", {
        type: "button",
        "aria-pressed": String(!tree),
        text,
        onclick: (event) => {
          this.element.classList.toggle("tree-first", tree);
          for (const other of event.target.parentElement.children) other.setAttribute("aria-pressed", String(other === event.target));
        },
      });
    return h("div", { class: "switch segments", role: "group", "aria-label": "What to show" }, pick("Map", false), pick("Tree", true));
  }

  #empty() {
    if (this.model.roots.length) return null;
    return h("p", { class: "empty", text: "No groups: no two columns of the data depend on each other." });
  }

  /** Says what the two kinds of lines are; a plain tree may have only one. */
  #legend() {
    const added = Boolean(this.model.payload.links);
    if (!added && !this.model.hasLoose) return null;
    const key = (kind, text) => h("span", { class: "key" }, lineGlyph(kind), text);
    const keys = added ? [key("solid", "tree"), key("dashed", "added")] : [key("solid", "tied"), key("loose", "loosely tied")];
    return h("span", { class: `legend${added ? " of-selected" : ""}` }, h("span", { class: "rule" }), keys);
  }

  #tools() {
    const { model, tree } = this;
    const button = (label, d, act) =>
      h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: act }, icon(d));
    const depth = h(
      "select",
      { "aria-label": "Show levels down to", onchange: (event) => tree.expandTo(Number(event.target.value)) },
      h("option", { value: "", text: "Levels", selected: true, disabled: true, hidden: true }),
      ...Array.from({ length: model.nLevels }, (_, k) => model.nLevels - k).map((level) =>
        h("option", { value: level, text: level === model.nLevels ? "Top level only" : `Down to level ${level}` }),
      ),
      h("option", { value: 0, text: `Down to the ${model.nouns.input[1]}` }),
    );
    depth.addEventListener("change", () => {
      depth.selectedIndex = 0;
      tree.element.focus({ preventScroll: true });
    });
    const orders = [["share", "largest first"], ["name", "by name"]];
    if (model.payload.units.coherence.length) orders.push(["coherence", "most coherent first"]);
    const order = h(
      "select",
      {
        "aria-label": "Sort",
        onchange: (event) => {
          model.sort(event.target.value);
          tree.reorder();
        },
      },
      orders.map(([value, text]) => h("option", { value, text: `Sort: ${text}` })),
    );
    const classes = model.payload.classes;
    this.colour =
      classes &&
      h(
        "select",
        {
          "aria-label": `Colour by ${classes.noun[0]}`,
          onchange: (event) => this.router.setColour(event.target.value === "" ? null : Number(event.target.value)),
        },
        h("option", { value: "", text: `Colour by ${classes.noun[0]}` }),
        classes.names.map((text, k) => h("option", { value: k, text })),
      );
    return h(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Tree" },
      button("Zoom in (+)", "M8 3v10M3 8h10", () => tree.camera.zoomBy(1.4)),
      button("Zoom out (−)", "M3 8h10", () => tree.camera.zoomBy(1 / 1.4)),
      button("See all (0)", "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4", () => tree.camera.fit()),
      h("span", { class: "rule" }),
      depth,
      order,
      this.colour,
      this.colour &&
        h(
          "span",
          { class: "scale", hidden: true },
          h("span", { text: "against" }),
          h("span", { class: "ramp", "aria-hidden": "true" }),
          h("span", { text: "for" }),
        ),
      this.#legend(),
    );
  }

  show({ node, colour, view }) {
    const { tree, model } = this;
    if (tree.colour !== colour) {
      tree.colour = colour;
      const found = colour === null ? [] : model.unitsOf(colour);
      tree.effects = new Map(found);
      tree.most = Math.abs(found[0]?.[1] ?? 1);
      tree.redraw();
      this.overview.colour(colour === null ? null : tree.effects, tree.most);
    }
    if (this.colour) {
      this.colour.value = colour === null ? "" : String(colour);
      this.element.querySelector(".scale").hidden = colour === null;
    }
    if (view !== "tree") return;
    if (tree.selected !== node || node !== null) tree.select(node);
    if (this.panelOf !== node) {
      this.panelOf = node;
      this.element.classList.toggle("with-panel", node !== null);
      this.element.classList.toggle("with-map", node === null);
      const content = node === null ? this.overview.content : panel(model, this.router, node);
      this.panel.replaceChildren(...content);
      this.panel.scrollTop = 0;
      const title = node === null ? "Overview" : `${capital(model.levelName(model.level[node]))}: ${model.label(node)}`;
      this.panel.setAttribute("aria-label", title);
    }
  }
}
