// Where the reader is, kept in the address: links, the back button and bookmarks all work.

const TREE = "tree";
const KNOWN = new Set(["view", "node", "unit", "word", "class", "colour"]);

/** The views that a report has. */
export function viewsOf(payload) {
  const views = [TREE, "list"];
  if (payload.classes) views.push("classes");
  if (payload.documents) views.push("documents");
  if (payload.along) views.push("along");
  if (payload.network) views.push("network");
  if (payload.training) views.push("training");
  return [...views, "data"];
}

/**
 * What an address asks for; `missing` says, as a sentence, what of it this report does not have.
 * @param hash with or without its #
 */
export function readAddress(model, hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const { payload, nouns } = model;
  const missing = [];
  /** Look up what a key names; remember it if it is not there. */
  const look = (key, what, find) => {
    const name = given.get(key);
    if (name === null) return null;
    const found = find(name);
    if (found === null) missing.push(`no ${what} “${name}”`);
    return found;
  };
  const at = (names) => (name) => (names.includes(name) ? names.indexOf(name) : null);
  const named = (name) => model.byName.get(name) ?? null;
  const classNames = payload.classes?.names ?? [];
  const noun = payload.classes?.noun[0] ?? "class";
  const numbered = look("node", "node", (text) => (/^\d+$/.test(text) && Number(text) < model.nNodes ? Number(text) : null));
  const node = numbered ?? look("unit", nouns.unit[0], named) ?? look("word", nouns.input[0], named);
  const views = viewsOf(payload);
  const view = look("view", "view", (text) => (views.includes(text) ? text : null));
  const state = {
    view: node !== null ? TREE : (view ?? TREE),
    node,
    cls: look("class", noun, at(classNames)),
    colour: look("colour", noun, at(classNames)),
  };
  for (const key of given.keys()) if (!KNOWN.has(key)) missing.push(`nothing called “${key}”`);
  return { ...state, missing: missing.length ? `This report has ${missing.join(" and ")}.` : null };
}

export class Router {
  constructor(model) {
    this.model = model;
    this.classNames = model.payload.classes?.names ?? [];
    this.listeners = [];
    addEventListener("hashchange", () => this.listeners.forEach((listener) => listener(this.read())));
  }

  read() {
    return readAddress(this.model, location.hash);
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
