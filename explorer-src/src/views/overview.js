// What stands beside the tree before anything is selected: the model in a few figures, and how to move.
import { h, name } from "../dom.js";
import { capital, compact, count, counted, percent } from "../format.js";

const KINDS = {
  classifier: "Classifier",
  regressor: "Regressor",
  tree: "Topic tree",
};

export function figure(value, label) {
  return h("div", { class: "figure" }, h("dd", { text: value }), h("dt", { text: label }));
}

export function overview(model, router) {
  const { payload, nouns } = model;
  const nUnits = model.nNodes - model.nInputs;
  const figures = [
    figure(count(model.nInputs), nouns.input[1]),
    figure(count(nUnits), `${nouns.unit[1]} on ${counted(model.nLevels, ["level", "levels"])}`),
  ];
  if (payload.network) {
    const { parameters, denseParameters } = payload.network;
    figures.push(
      figure(compact(parameters), "parameters"),
      figure(percent(parameters / denseParameters), "of a dense network’s"),
    );
  }
  const largest = model.roots.slice(0, 6);
  return [
    h("p", { class: "eyebrow", text: KINDS[payload.kind] }),
    h("h1", {}, name(payload.title)),
    h("dl", { class: "figures" }, figures),
    h("section", {}, h("h2", { text: `Largest ${nouns.unit[1]}` }), h(
      "ul",
      { class: "rows" },
      largest.map((node) =>
        h(
          "li",
          {},
          h(
            "a",
            { class: "row", href: router.hrefNode(node) },
            name(model.label(node), { class: "grow" }),
            h("span", { class: "value", text: payload.units.share.length ? percent(model.share(node)) : `${model.wordsBelow[node]}` }),
          ),
        ),
      ),
    )),
    h(
      "section",
      {},
      h("h2", { text: "Getting around" }),
      h(
        "dl",
        { class: "keys" },
        ...[
          [["/"], `search ${nouns.input[1]} and ${nouns.unit[1]}`],
          [["↑", "↓"], "next and previous"],
          [["→", "←"], "open and close a group"],
          [["Enter"], "select"],
          [["+", "−", "0"], "zoom in, out, see all"],
        ].flatMap(([keys, what]) => [
          h("dt", {}, keys.map((key) => h("kbd", { text: key }))),
          h("dd", { text: what }),
        ]),
      ),
      h("p", { class: "note", text: note(model) }),
    ),
  ];
}

const article = (noun) => `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;

function note(model) {
  const { payload, nouns } = model;
  const unit = capital(nouns.unit[1]);
  if (!payload.units.share.length) return `${unit} are ordered by the number of ${nouns.input[1]} below them.`;
  const expected = payload.rows && payload.kind === "tree" ? "" : ", as the tree expects it";
  const links = payload.links
    ? ` Added links are drawn for what is selected: the ${payload.links.perUnit} strongest below each ${nouns.unit[0]}, and the ${payload.links.perNode} strongest above each ${nouns.input[0]}.`
    : "";
  return `The percentage of ${article(nouns.unit[0])} is the share of ${nouns.row[1]} in which it is on${expected}.${links}`;
}
