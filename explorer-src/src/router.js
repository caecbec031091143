// Where the reader is, kept in the address: links, the back button and bookmarks all work.

const TREE = "tree";

export class Router {
  constructor(model) {
    this.model = model;
    this.classNames = model.payload.classes?.names ?? [];
    this.listeners = [];
    addEventListener("hashchange", () => this.listeners.forEach((listener) => listener(this.read())));
  }

  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const node = this.#node(given);
    return {
      view: node !== null ? TREE : (given.get("view") ?? TREE),
      node,
      cls: this.#class(given.get("class")),
      colour: this.#class(given.get("colour")),
    };
  }

  /** Number of a class from its name. */
  #class(name) {
    const at = name === null ? -1 : this.classNames.indexOf(name);
    return at < 0 ? null : at;
  }

  #number(text) {
    return text !== null && /^\d+$/.test(text) ? Number(text) : null;
  }

  #node(given) {
    const number = this.#number(given.get("node"));
    if (number !== null) return number < this.model.nNodes ? number : null;
    const name = given.get("unit") ?? given.get("word");
    return name === null ? null : (this.model.byName.get(name) ?? null);
  }

  /** Address of a node; by number where two nodes have one name. */
  hrefNode(node) {
    const name = this.model.names[node];
    const colour = this.read().colour;
    const parts = new URLSearchParams();
    if (this.model.byName.get(name) !== node) parts.set("node", node);
    else parts.set(this.model.isUnit(node) ? "unit" : "word", name);
    if (colour !== null) parts.set("colour", this.classNames[colour]);
    return `#${parts}`;
  }

  hrefClass(cls) {
    return this.hrefView("classes", { class: this.classNames[cls] });
  }

  hrefView(view, more = {}) {
    return `#${new URLSearchParams({ view, ...more })}`;
  }

  go(href) {
    if (location.hash !== href) location.hash = href;
  }

  /** Change the colouring without a new step for the back button. */
  setColour(colour) {
    const parts = new URLSearchParams(location.hash.slice(1));
    if (colour === null) parts.delete("colour");
    else parts.set("colour", this.classNames[colour]);
    history.replaceState(null, "", `#${parts}`);
    this.listeners.forEach((listener) => listener(this.read()));
  }
}
