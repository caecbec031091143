// Topics along a column: a small chart for each, the largest topics first.
import { h, name } from "../dom.js";
import { count, percent } from "../format.js";
import { shares } from "./columns.js";

const AT_ONCE = 48;
let level = null;

export function alongView(model, router) {
  const view = model.payload.along;
  if (level === null) level = model.nLevels;
  const body = h("div", { class: "page along" });
  let shown = AT_ONCE;
  const fill = () => {
    const units = [];
    for (let unit = model.nInputs; unit < model.nNodes; unit += 1) if (model.level[unit] === level) units.push(unit);
    units.sort((a, b) => model.share(b) - model.share(a));
    const pick = (value) =>
      h("button", {
        type: "button",
        "aria-pressed": String(level === value),
        text: value,
        onclick: () => {
          level = value;
          shown = AT_ONCE;
          fill();
          document.querySelector(".segments [aria-pressed=true]")?.focus();
        },
      });
    const levels = Array.from({ length: model.nLevels }, (_, k) => model.nLevels - k);
    const total = view.counts.reduce((a, b) => a + b, 0);
    body.replaceChildren(
      h(
        "header",
        { class: "page-head" },
        h("p", { class: "eyebrow", text: "Along a column" }),
        h("h1", {}, name(view.name)),
        h("p", { class: "lead", text: `Share of ${model.nouns.row[1]} that have each of the ${model.nouns.unit[1]}. ${count(total)} ${model.nouns.row[1]} have a value. Each chart has its own scale.` }),
        h("div", { class: "head-tools" }, h("span", { class: "tool-label", text: "Level" }), h("div", { class: "segments", role: "group", "aria-label": "Level" }, levels.map(pick))),
      ),
      h(
        "ul",
        { class: `multiples ${view.kind}` },
        units.slice(0, shown).map((unit) => {
          const values = view.of[unit - model.nInputs].map((share) => share / 10000);
          const top = values.indexOf(Math.max(...values));
          return h(
            "li",
            { class: "multiple" },
            h("a", { href: router.hrefNode(unit) }, name(model.label(unit))),
            shares(values, view, { width: 260, height: 64, most: 4 }),
            view.kind === "labels"
              ? null
              : h("p", { class: "peak" }, "most in ", name(view.bins[top]), `, ${percent(values[top])}`),
          );
        }),
      ),
      units.length > shown
        ? h("button", {
            type: "button",
            class: "more",
            text: `Show ${Math.min(AT_ONCE, units.length - shown)} more of ${count(units.length)}`,
            onclick: () => {
              shown += AT_ONCE;
              fill();
            },
          })
        : "",
    );
  };
  fill();
  return body;
}
