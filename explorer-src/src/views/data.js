// What the page is made from, what its numbers mean, and its tables as files.
import { h, name } from "../dom.js";
import { bar } from "../bars.js";
import { alongLines, downloadLink, unitLines } from "../csv.js";
import { capital, count } from "../format.js";

export function dataView(model) {
  const { payload, nouns } = model;
  const table = (items) =>
    h(
      "dl",
      { class: "table" },
      items.flatMap(([what, value]) => [h("dt", {}, name(what)), h("dd", {}, name(value))]),
    );
  const classes = payload.classes;
  return h(
    "div",
    { class: "page data" },
    h("header", { class: "page-head" }, h("p", { class: "eyebrow", text: "About this page" }), h("h1", {}, name(payload.title))),
    h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "stack" },
        h("section", {}, h("h2", { text: "What it is made from" }), table(payload.data)),
        h(
          "section",
          {},
          h("h2", { text: "Downloads" }),
          h(
            "ul",
            { class: "downloads" },
            h("li", {}, downloadLink(`${capital(nouns.unit[1])} (CSV)`, "topics.csv", () => unitLines(model)), h("p", { class: "note", text: `A line for each ${nouns.unit[0]}: its place in the tree, label, share, coherence and ${nouns.input[1]}.` })),
            payload.along
              ? h("li", {}, downloadLink(`Shares by ${payload.along.name} (CSV)`, "shares.csv", () => alongLines(model)), h("p", { class: "note", text: `A line for each ${payload.along.name}, a column for each ${nouns.unit[0]}.` }))
              : null,
          ),
        ),
        payload.settings.length ? h("section", {}, h("h2", { text: "Settings of the model" }), table(payload.settings)) : null,
      ),
      h(
        "div",
        { class: "stack" },
        h("section", {}, h("h2", { text: "What the words and numbers mean" }), table(meanings(model))),
        classes?.counts
          ? h("section", {}, h("h2", { text: `${capital(nouns.row[1])} per ${classes.noun[0]}` }), counts(classes))
          : null,
      ),
    ),
    h("footer", { class: "foot", text: `Made with tsenet ${payload.tsenet}. This file holds everything it shows and makes no network requests.` }),
  );
}

/** Pairs of a term and what it means on this page. */
function meanings(model) {
  const { payload, nouns } = model;
  const { fields, coherence } = payload.units;
  const [unit, rows, inputs] = [nouns.unit[0], nouns.row[1], nouns.input[1]];
  const tree = payload.kind === "tree";
  const found = [
    [capital(unit), tree ? `A set of ${inputs} that occur in the same ${rows}. Its label is its most typical ${inputs}.` : `A hidden unit of the network, named by the ${inputs} below it.`],
    ["Level", `Level ${model.nLevels} is the top. Each ${unit} of a lower level is part of one above; level 1 is right above the ${inputs}.`],
  ];
  if (model.hasShares) {
    found.push(["Share", payload.rows && tree ? `Share of the ${rows} in which the ${unit} is present. Shares do not add up to 100 %: one of the ${rows} may have several ${nouns.unit[1]}.` : `Share of ${rows} in which the ${unit} is on, as the tree expects it.`]);
  }
  if (fields[0] === "information") {
    found.push(["With it, without", `Of the ${rows} with the ${unit}, and of the others, the share in which the ${nouns.input[0]} occurs.`]);
  }
  if (coherence.length) {
    found.push(["Coherence", `How often its ${inputs} occur together: from −1 (never) over 0 (as by chance) to 1 (always); NPMI.`]);
  }
  if (payload.rows && tree) found.push(["Strength", `How clearly one of the ${rows} has the ${unit}: present from 50 % on.`]);
  return found;
}

function counts(classes) {
  const most = Math.max(1, ...classes.counts);
  return h(
    "ul",
    { class: "rows" },
    classes.names.map((text, k) =>
      h("li", {}, h("div", { class: "row effect" }, name(text, { class: "grow" }), bar(classes.counts[k], most), h("span", { class: "value", text: count(classes.counts[k]) }))),
    ),
  );
}
