// What is known about one unit, or one word.
import { h, name } from "../dom.js";
import { bar, lineGlyph, shortList } from "../bars.js";
import { capital, count, counted, number, percent, signed } from "../format.js";
import { fold, pairs } from "../model.js";
import { alongTitle } from "./along.js";
import { shares } from "./columns.js";

export function panel(model, router, node) {
  const unit = model.isUnit(node);
  const plain = !model.payload.links; // a tree: what is below is told by shares, not by weights
  return [
    head(model, router, node),
    unit ? facts(model, node) : null,
    unit ? features(model, router, node) : null,
    unit ? trained(model, router, node) : null,
    unit ? effectsSection(model, router, model.effects(node)) : null,
    unit && plain ? inside(model, router, node) : null,
    unit ? along(model, node) : null,
    unit && plain ? rowsSection(model, model.rows(node), node) : null,
    unit ? null : groups(model, router, node),
    plain ? null : linksAbove(model, router, node),
    unit && !plain ? linksBelow(model, router, node) : null,
    unit && plain ? members(model, router, node) : null,
    unit && !plain ? rowsSection(model, model.rows(node), node) : null,
  ].filter(Boolean);
}

function section(title, note, ...content) {
  return h(
    "section",
    {},
    h("h2", {}, title, note ? h("span", { class: "aside", text: note }) : null),
    ...content,
  );
}

function head(model, router, node) {
  const path = model.path(node).reverse();
  const close = h("a", {
    class: "icon-button close",
    href: router.hrefView("tree"),
    "aria-label": "Close the details",
    title: "Close",
    text: "×",
  });
  const kind = model.isUnit(node) ? `${model.nouns.unit[0]} · ${model.levelName(model.level[node])}` : model.nouns.input[0];
  return h(
    "header",
    { class: "panel-head" },
    close,
    path.length
      ? h(
          "nav",
          { class: "crumbs", "aria-label": "Groups above" },
          h(
            "ol",
            {},
            path.map((at) => h("li", {}, h("a", { href: router.hrefNode(at) }, name(model.label(at))))),
          ),
        )
      : null,
    h("p", { class: "eyebrow" }, capital(kind), model.isUnit(node) ? name(model.names[node], { class: "code" }) : null),
    h("h1", {}, name(model.label(node))),
    model.isLoose(node) ? h("p", { class: "note loose" }, "Loosely tied to ", name(model.label(model.parent[node])), ".") : null,
    !path.length && !model.isUnit(node) ? h("p", { class: "note", text: "In no group of the tree." }) : null,
  );
}

function facts(model, node) {
  const { nouns } = model;
  const items = [];
  if (model.hasShares) items.push(["in", `${percent(model.share(node))} of ${nouns.row[1]}`, model.share(node)]);
  const coherence = model.coherence(node);
  if (coherence !== null) items.push(["coherence", number(Number(coherence.toFixed(2)))]);
  items.push(["holds", holds(model, node)]);
  return h(
    "dl",
    { class: "facts" },
    items.flatMap(([what, value, share]) => [
      h("dt", { text: what }),
      h("dd", {}, value, share === undefined ? null : bar(share, 1)),
    ]),
  );
}

function holds(model, node) {
  const words = counted(model.wordsBelow[node], model.nouns.input);
  return model.unitsBelow[node] ? `${counted(model.unitsBelow[node], model.nouns.unit)}, ${words}` : words;
}

// ---- features

const FEATURES = {
  correlation: {
    heads: ["corr.", "weight"],
    cells: ([, correlation, weight]) => [signed(correlation), weight === null ? "–" : signed(weight)],
  },
  information: {
    heads: ["with it", "without"],
    cells: ([, , inside, outside]) => [percent(inside), percent(outside)],
  },
};

function features(model, router, node) {
  const title = `${capital(model.nouns.input[1])} of the ${model.payload.links ? "group" : model.nouns.unit[0]}`;
  const found = model.features(node);
  if (!found.length) return section(title, null, h("p", { class: "note", text: `No typical ${model.nouns.input[1]}.` }));
  return section(title, `in how many ${model.nouns.row[1]}`, featureTable(model, router, found, FEATURES.information));
}

/** What training made of the unit: the same links, but what it answers to may be something else. */
function trained(model, router, node) {
  const { nouns, payload: { trained: view } } = model;
  if (!view) return null;
  const k = node - model.nInputs;
  const found = pairs(view.features[k] ?? [], 3);
  const note = `Active in ${percent(view.active[k])} of the ${nouns.row[1]}, ${number(view.mean[k])} on average.`;
  return section(
    "In the trained network",
    `${nouns.input[1]} by correlation`,
    h("p", { class: "note", text: note }),
    found.length ? featureTable(model, router, found, FEATURES.correlation) : null,
  );
}

function featureTable(model, router, found, kind) {
  const most = Math.max(...found.map(([, value]) => Math.abs(value)));
  const diverging = found.some(([, value]) => value < 0);
  const line = (feature) => {
    const [first, second] = kind.cells(feature);
    return h(
      "li",
      {},
      h(
        "a",
        { class: "row feature", href: router.hrefNode(feature[0]) },
        name(model.names[feature[0]], { class: "grow" }),
        bar(feature[1], most, { diverging }),
        h("span", { class: "value", text: first }),
        h("span", { class: "value", text: second }),
      ),
    );
  };
  return h(
    "div",
    {},
    h(
      "div",
      { class: "row feature heads", "aria-hidden": "true" },
      h("span", { class: "grow" }),
      h("span", { class: "bar" }),
      ...kind.heads.map((text) => h("span", { class: "value", text })),
    ),
    h("ul", { class: "rows" }, found.map(line)),
  );
}

// ---- classes

function effectsSection(model, router, found) {
  if (!found.length) return null;
  const { names, noun } = model.payload.classes;
  const most = Math.max(...found.map(([, effect]) => Math.abs(effect)));
  const ordered = found.slice(0, 8).sort((a, b) => b[1] - a[1]);
  return section(
    `Effect on ${noun[1]}`,
    "change of the output when the unit rises by one standard deviation",
    h(
      "ul",
      { class: "rows" },
      ordered.map(([cls, effect]) =>
        h(
          "li",
          {},
          h(
            "a",
            { class: "row effect", href: router.hrefClass(cls) },
            name(names[cls], { class: "grow" }),
            bar(effect, most, { diverging: true }),
            h("span", { class: "value", text: signed(effect) }),
          ),
        ),
      ),
    ),
  );
}

function along(model, node) {
  const view = model.payload.along;
  if (!view) return null;
  const values = view.of[node - model.nInputs].map((share) => share / 10000);
  const title = h("bdi", { dir: "auto", text: capital(alongTitle(view)) });
  return section(title, `share of ${model.nouns.row[1]}`, shares(values, view));
}

/** The topics right below one, largest first. */
function inside(model, router, node) {
  const below = model.unitsUnder(node).sort((a, b) => model.room(b) - model.room(a));
  if (!below.length) return null;
  const most = model.room(below[0]);
  const line = (child) =>
    h(
      "li",
      {},
      h(
        "a",
        { class: "row link", href: router.hrefNode(child) },
        name(model.label(child), { class: "grow" }),
        bar(model.room(child), most),
        h("span", { class: "value", text: model.hasShares ? percent(model.share(child)) : count(model.wordsBelow[child]) }),
      ),
    );
  const note = model.hasShares ? `share of ${model.nouns.row[1]}` : model.nouns.input[1];
  return section(`${capital(model.nouns.unit[1])} inside`, note, ...shortList(below, line));
}

/** The words that belong to a topic of the lowest level shown. */
function members(model, router, node) {
  const words = model.children[node].filter((child) => !model.isUnit(child));
  if (!words.length) return null;
  const item = (word) => h("li", {}, h("a", { href: router.hrefNode(word) }, name(model.names[word])));
  return section(`${counted(words.length, model.nouns.input)} below it`, null, ...shortList(words, item, { first: 40, className: "wordlist" }));
}

/** The groups a word is in, the smallest first. */
function groups(model, router, node) {
  const path = model.path(node);
  if (!path.length) return null;
  const known = model.hasShares;
  return section(
    model.payload.links ? "Groups" : capital(model.nouns.unit[1]),
    known ? `share of ${model.nouns.row[1]}` : model.nouns.input[1],
    h(
      "ul",
      { class: "rows" },
      path.map((at) =>
        h(
          "li",
          {},
          h(
            "a",
            { class: "row", href: router.hrefNode(at) },
            h("span", { class: "chip", text: model.level[at], title: model.levelName(model.level[at]) }),
            name(model.label(at), { class: "grow" }),
            h("span", { class: "value", text: known ? percent(model.share(at)) : count(model.wordsBelow[at]) }),
          ),
        ),
      ),
    ),
  );
}

// ---- links

function linkRow(model, router, node, strength, added, most) {
  return h(
    "li",
    {},
    h(
      "a",
      { class: "row link", href: router.hrefNode(node) },
      lineGlyph(added ? "dashed" : "solid"),
      h("span", { class: "sr", text: added ? "added link: " : "tree link: " }),
      name(model.label(node), { class: "grow" }),
      bar(strength, most, { diverging: false }),
      h("span", { class: "value", text: signed(strength) }),
    ),
  );
}

function listLinks(model, router, title, tree, added, nAdded) {
  const all = [...tree.map(([node, strength]) => [node, strength, false]), ...added.map(([node, strength]) => [node, strength, true])];
  if (!all.length) return null;
  const most = Math.max(...all.map(([, strength]) => Math.abs(strength))) || 1;
  const kind = model.payload.strengthKind === "weight" ? "weight in the network" : "log-odds";
  const left = nAdded - added.length;
  return section(
    title,
    kind,
    ...shortList(all, ([node, strength, isAdded]) => linkRow(model, router, node, strength, isAdded, most)),
    left > 0 ? h("p", { class: "note", text: `Left out: ${counted(left, ["weaker added link", "weaker added links"])}.` }) : null,
  );
}

function linksAbove(model, router, node) {
  const above = model.parent[node];
  const tree = above >= 0 ? [[above, model.payload.strength[node]]] : [];
  const added = model.above[node];
  const total = tree.length + model.nAddedAbove(node);
  return listLinks(model, router, `Feeds ${counted(total, model.nouns.unit)}`, tree, added, model.nAddedAbove(node));
}

function linksBelow(model, router, node) {
  const tree = model.children[node].map((child) => [child, model.payload.strength[child]]);
  const added = model.nAddedBelow(node);
  const units = model.unitsUnder(node).length + (model.level[node] > 1 ? added : 0);
  const words = tree.length + added - units;
  const parts = [units ? counted(units, model.nouns.unit) : "", words ? counted(words, model.nouns.input) : ""];
  return listLinks(model, router, `Built from ${parts.filter(Boolean).join(" and ")}`, tree, model.addedBelow(node), added);
}

// ---- rows

function rowsSection(model, found, unit = null) {
  if (!found.length) return null;
  const { kind, texts, truth, predicted } = model.payload.rows;
  const noun = model.nouns.row;
  const marked = marker(model, unit);
  return section(
    `${kind === "strength" ? "Typical" : "Most active"} ${noun[1]}`,
    kind === "strength" ? `strength of the ${model.nouns.unit[0]}` : "with the activation",
    h(
      "ol",
      { class: "cards" },
      found.map(([row, activation]) =>
        h(
          "li",
          { class: "card" },
          h(
            "p",
            { class: "card-head" },
            h("span", { text: `${capital(noun[0])} ${count(row)}` }),
            h("span", { class: "value", text: kind === "strength" ? percent(activation) : number(activation) }),
          ),
          texts[row] !== undefined ? h("p", { class: "quote", dir: "auto" }, texts[row] ? marked(texts[row]) : "(empty)") : null,
          tags(truth[row], predicted[row]),
        ),
      ),
    ),
  );
}

/** A function that splits a text into parts, in which the words of a unit are marked: strongly those it is listed by. */
function marker(model, unit) {
  if (unit === null) return (text) => [text];
  const listed = new Set(model.features(unit).map(([node]) => fold(model.names[node])));
  const below = new Set(model.inputsUnder(unit).map((node) => fold(model.names[node])));
  return (text) =>
    splitWords(text, listed, below).map(([part, kind]) => (kind ? h("mark", { class: kind, text: part }) : part));
}

/** Pieces of a text: `[piece, "listed" | "below" | null]`. */
export function splitWords(text, listed, below) {
  const pieces = [];
  let plain = "";
  for (const piece of text.split(/([\p{L}\p{M}\p{N}_]+)/u)) {
    const word = fold(piece);
    const kind = listed.has(word) ? "listed" : below.has(word) ? "below" : null;
    if (kind === null) plain += piece;
    else {
      if (plain) pieces.push([plain, null]);
      pieces.push([piece, kind]);
      plain = "";
    }
  }
  return plain ? [...pieces, [plain, null]] : pieces;
}

function tags(truth, predicted) {
  if (truth === undefined && predicted === undefined) return null;
  const right = truth !== undefined && truth === predicted;
  const tag = (label, value) => h("span", { class: "tag" }, h("span", { class: "tag-label", text: label }), name(value));
  if (right) return h("p", { class: "tags" }, tag("is, and predicted", truth));
  return h(
    "p",
    { class: "tags" },
    truth !== undefined ? tag("is", truth) : null,
    predicted !== undefined ? tag("predicted", predicted) : null,
  );
}
