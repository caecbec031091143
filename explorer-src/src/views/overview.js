// What a report opens on, beside the tree: the model in a few figures, the map of its top topics, and how to move.
import { h, name } from "../dom.js";
import { capital, compact, count, counted, percent } from "../format.js";
import { LOOSE_SHARE } from "../model.js";
import { TopicMap } from "../map/map.js";

const KINDS = {
  classifier: "Classifier",
  regressor: "Regressor",
  tree: "Topics",
};

export class Overview {
  constructor(model, router) {
    this.model = model;
    this.map = new TopicMap(model, router);
    this.caption = h("p", { class: "note caption" });
    this.content = this.#content();
    this.colour(null, 1);
  }

  /** Colour the map by effects on a class, a map of unit and effect; null: by top unit. */
  colour(effects, most) {
    this.map.colour(effects, most);
    this.caption.textContent = effects === null ? this.#says() : this.#saysClass();
  }

  #content() {
    const { model } = this;
    const { payload, nouns } = model;
    const nUnits = model.nNodes - model.nInputs;
    const rows = payload.nRows === null ? [] : [[count(payload.nRows), nouns.row[1]]];
    const figures = [
      ...rows,
      [count(model.nInputs), nouns.input[1]],
      [count(nUnits), `${nouns.unit[1]} on ${counted(model.nLevels, ["level", "levels"])}`],
    ];
    if (payload.network) {
      const { parameters, denseParameters } = payload.network;
      figures.push([compact(parameters), "parameters"]);
      figures.push([percent(parameters / denseParameters), "of a dense network’s"]);
    }
    return [
      h(
        "header",
        { class: "overview-head" },
        h("div", {}, h("p", { class: "eyebrow", text: KINDS[payload.kind] }), h("h1", {}, name(payload.title))),
        h(
          "dl",
          { class: "figures" },
          figures.map(([value, label]) => h("div", { class: "figure" }, h("dd", { text: value }), h("dt", { text: label }))),
        ),
      ),
      model.roots.length ? this.map.element : null,
      model.roots.length ? this.caption : null,
      help(model),
    ].filter(Boolean);
  }

  #says() {
    const { payload, nouns } = this.model;
    const colour = `Each ${payload.kind === "tree" ? "top topic" : "top group"} has a colour, the same in the tree.`;
    if (!this.model.hasShares) return `Area: number of ${nouns.input[1]} below. ${colour}`;
    const known = payload.rows && payload.kind === "tree";
    const what = known
      ? `with the ${nouns.unit[0]}; ${article(nouns.row[0])} may have several ${nouns.unit[1]}`
      : `in which the ${nouns.unit[0]} is on, as the tree expects it`;
    return `Area and percentage: share of ${nouns.row[1]} ${what}. ${colour}`;
  }

  #saysClass() {
    return "Blue raises the chosen output, orange lowers it; stronger effects have stronger colours.";
  }
}

function help(model) {
  const { nouns, payload } = model;
  const keys = [
    [["/"], `search ${nouns.input[1]} and ${nouns.unit[1]}; several words find what holds them all`],
    [["↑", "↓"], "next and previous"],
    [["→", "←"], "open and close a group"],
    [["Enter"], "select"],
    [["+", "−", "0"], "zoom in, out, see all"],
  ];
  const links = payload.links
    ? h("p", {
        class: "note",
        text: `Added links are drawn for what is selected: the ${payload.links.perUnit} strongest below each ${nouns.unit[0]}, and the ${payload.links.perNode} strongest above each ${nouns.input[0]}.`,
      })
    : null;
  return h(
    "details",
    { class: "help" },
    h("summary", { text: "Getting around" }),
    h(
      "dl",
      { class: "keys" },
      keys.flatMap(([names, what]) => [h("dt", {}, names.map((key) => h("kbd", { text: key }))), h("dd", { text: capital(what) })]),
    ),
    links,
    model.hasLoose ? h("p", { class: "note", text: looseNote(model) }) : null,
  );
}

function looseNote({ nouns }) {
  const most = percent(LOOSE_SHARE);
  return `A dashed line leads to ${article(nouns.unit[0])} that is loosely tied to the one above: its kinship is below ${most} of the median.`;
}

const article = (noun) => `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;
