// Topics along a column: a chart for each topic, or for each label.
import { h, name } from "../dom.js";
import { capital, count, percent } from "../format.js";
import { alongLines, downloadLink } from "../csv.js";
import { columns, ranked } from "./columns.js";

const AT_ONCE = 48;
const state = { level: null, by: "unit", shown: AT_ONCE };

export function alongView(model, router) {
  if (state.level === null) state.level = model.nLevels;
  const body = h("div", { class: "page along" });
  const fill = () => body.replaceChildren(...content(model, router, fill));
  fill();
  return body;
}

/** "by newsgroup", "over time" */
export const alongTitle = (along) => (along.kind === "dates" ? "over time" : `by ${along.name}`);

function content(model, router, fill) {
  const { along, nouns } = model.payload;
  const units = model.unitsOfLevel(state.level).sort((a, b) => model.share(b) - model.share(a));
  const labels = along.kind === "labels";
  const set = (change) => {
    Object.assign(state, { shown: AT_ONCE }, change);
    fill();
  };
  const pick = (text, change) =>
    h("button", {
      type: "button",
      "aria-pressed": String(Object.entries(change).every(([key, value]) => state[key] === value)),
      text,
      onclick: () => set(change),
    });
  const levels = Array.from({ length: model.nLevels }, (_, k) => model.nLevels - k);
  const total = along.counts.reduce((a, b) => a + b, 0);
  const cards = labels && state.by === "bin" ? along.bins.map((_, k) => binCard(model, router, units, k)) : units.map((unit) => unitCard(model, router, unit));
  const scale = labels ? "" : " Each chart has its own scale.";
  return [
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow" }, name(along.name)),
      h("h1", {}, `${capital(nouns.unit[1])} `, name(alongTitle(along))),
      h("p", { class: "lead", text: `Percentages: of the ${nouns.row[1]} of each ${{ labels: "class", dates: "period", numbers: "range" }[along.kind]}, those with the ${nouns.unit[0]}. ${count(total)} ${nouns.row[1]} have a value.${scale}` }),
      h(
        "div",
        { class: "head-tools" },
        labels
          ? h("div", { class: "segments", role: "group", "aria-label": "Charts" }, pick(`By ${nouns.unit[0]}`, { by: "unit" }), pick(`By ${along.name}`, { by: "bin" }))
          : null,
        h("span", { class: "tool-label", text: "Level" }),
        h("div", { class: "segments", role: "group", "aria-label": "Level" }, levels.map((level) => pick(level === model.nLevels ? `${level} (top)` : level, { level }))),
        downloadLink("Download as CSV", "shares.csv", () => alongLines(model)),
      ),
    ),
    h("ul", { class: `multiples ${along.kind}` }, cards.slice(0, state.shown)),
    cards.length > state.shown
      ? h("button", {
          type: "button",
          class: "more",
          text: `Show ${Math.min(AT_ONCE, cards.length - state.shown)} more of ${count(cards.length)}`,
          onclick: () => set({ shown: state.shown + AT_ONCE }),
        })
      : "",
  ];
}

function unitCard(model, router, unit) {
  const { along } = model.payload;
  const values = along.of[unit - model.nInputs].map((share) => share / 10000);
  const top = values.indexOf(Math.max(...values));
  return h(
    "li",
    { class: "multiple", vars: { "--own": `var(--hue-${model.hues[unit]})` } },
    h("p", { class: "card-title" }, h("a", { href: router.hrefNode(unit) }, name(model.label(unit))), h("span", { class: "value", text: percent(model.share(unit)) })),
    along.kind === "labels"
      ? ranked(values.map((value, k) => ({ value, text: along.bins[k], title: `of ${count(along.counts[k])}` })), 5)
      : columns(values, along, { width: 300, height: 130 }),
    along.kind === "labels" ? null : h("p", { class: "peak" }, "Highest: ", name(along.bins[top]), `, ${percent(values[top])}`),
  );
}

function binCard(model, router, units, k) {
  const { along, nouns } = model.payload;
  const items = units.map((unit) => ({ value: along.of[unit - model.nInputs][k] / 10000, text: model.label(unit), href: router.hrefNode(unit) }));
  return h(
    "li",
    { class: "multiple" },
    h("p", { class: "card-title" }, name(along.bins[k]), h("span", { class: "value", text: `${count(along.counts[k])} ${nouns.row[1]}` })),
    ranked(items, 5),
  );
}
