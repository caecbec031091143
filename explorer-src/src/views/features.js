// The feature layer: units above the tree, each of which reads one layer in full. The outputs read them.
import { h, name } from "../dom.js";
import { bar } from "../bars.js";
import { capital, count, counted, percent, signed } from "../format.js";
import { pairs } from "../model.js";
import { effectsSection, rowsSection, trainedSection } from "./panel.js";

const AT_ONCE = 40;
let reads = null; // the reader's choice of a group

export function featuresView(model, router, state) {
  const view = model.featureLayer;
  const body = h("div", { class: "page features" });
  if (state.feature !== null && reads !== view.reads[state.feature]) reads = null;
  let shown = AT_ONCE;
  const fill = () => body.replaceChildren(...content(model, router, state, shown, (more) => {
    if (more) shown += AT_ONCE;
    else shown = AT_ONCE;
    fill();
  }));
  fill();
  if (state.feature !== null) {
    requestAnimationFrame(() => body.querySelector("details[open]")?.scrollIntoView({ block: "start" }));
  }
  return body;
}

/** Units with the strongest effects first; without effects those that are active most often. */
export function orderOfFeatures(view) {
  const strength = (k) => Math.max(0, ...pairs(view.effects[k]).map(([, effect]) => Math.abs(effect)));
  const found = view.names.map((_, k) => ({ k, strength: strength(k), active: view.trained.active[k] }));
  return found.sort((a, b) => b.strength - a.strength || b.active - a.active || a.k - b.k).map(({ k }) => k);
}

function content(model, router, state, shown, again) {
  const view = model.featureLayer;
  const order = orderOfFeatures(view);
  const chosen = order.filter((k) => reads === null || view.reads[k] === reads);
  const listed = chosen.filter((k, at) => at < shown || k === state.feature);
  const layer = (level) => (level === 0 ? model.nouns.input[1] : level === model.nLevels ? "top level" : `level ${level}`);
  const groups = [...new Set(view.reads)].sort((a, b) => a - b);
  const pick = (label, value) =>
    h("button", {
      type: "button",
      "aria-pressed": String(reads === value),
      text: label,
      onclick: () => {
        reads = value;
        again(false);
        document.querySelector(".segments [aria-pressed=true]")?.focus();
      },
    });
  const most = Math.max(1e-12, ...order.flatMap((k) => pairs(view.effects[k]).map(([, effect]) => Math.abs(effect))));
  return [
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow", text: "Feature layer" }),
      h("h1", { text: counted(view.names.length, ["unit above the tree", "units above the tree"]) }),
      h("p", {
        class: "lead",
        text: `Each reads one whole layer: by a skip path the ${model.nouns.input[1]} or a level, or else the top level. The outputs read them. Named by the ${model.nouns.input[1]} they go with.`,
      }),
      h(
        "div",
        { class: "head-tools" },
        h("span", { class: "tool-label", text: "Reads" }),
        h("div", { class: "segments", role: "group", "aria-label": "Layer that is read" }, pick("Any", null), groups.map((level) => pick(capital(layer(level)), level))),
      ),
    ),
    h(
      "div",
      { class: "row effect heads feature-heads", "aria-hidden": "true" },
      h("span", { class: "grow", text: `${capital(model.nouns.input[1])} it goes with` }),
      model.payload.classes ? h("span", { text: `Strongest effect on ${article(model.payload.classes.noun[0])}` }) : null,
    ),
    h("ul", { class: "feature-list" }, listed.map((k) => h("li", {}, unit(model, router, k, k === state.feature, most)))),
    chosen.length > listed.length
      ? h("button", {
          type: "button",
          class: "more",
          text: `Show ${Math.min(AT_ONCE, chosen.length - listed.length)} more of ${count(chosen.length)}`,
          onclick: () => again(true),
        })
      : null,
  ].filter(Boolean);
}

const article = (noun) => `${/^[aeio]/.test(noun) ? "an" : "a"} ${noun}`;

function unit(model, router, k, open, most) {
  const view = model.featureLayer;
  const [strongest] = pairs(view.effects[k]);
  const level = view.reads[k];
  const item = h(
    "details",
    { class: "feature-unit", open },
    h(
      "summary",
      {},
      h("span", { class: "row effect wide" },
        h("span", { class: "chip", text: level, title: `reads ${level ? model.levelName(level) : model.nouns.input[1]}` }),
        h("span", { class: "grow two-lines" }, name(view.trained.label[k]), h("span", { class: "where", text: `${view.names[k]} · active in ${percent(view.trained.active[k])}` })),
        strongest ? name(model.payload.classes.names[strongest[0]], { class: "class-name" }) : null,
        strongest ? bar(strongest[1], most) : null,
        strongest ? h("span", { class: "value", text: signed(strongest[1]) }) : null,
      ),
    ),
  );
  const fill = () => {
    if (item.childElementCount > 1) return;
    item.append(
      h(
        "div",
        { class: "two feature-body" },
        trainedSection(model, router, view.trained, k, "Goes with"),
        h("div", {}, effectsSection(model, router, pairs(view.effects[k])) ?? "", rowsSection(model, pairs(view.rows[k])) ?? ""),
      ),
    );
  };
  if (open) fill();
  item.addEventListener("toggle", fill);
  return item;
}
