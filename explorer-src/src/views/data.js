// The data card: what the model was shown, and with what settings.
import { h, name } from "../dom.js";
import { bar } from "../bars.js";
import { capital, count } from "../format.js";

export function dataView(model) {
  const { payload } = model;
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
    h("header", { class: "page-head" }, h("p", { class: "eyebrow", text: "Data card" }), h("h1", {}, name(payload.title))),
    h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "stack" },
        h("section", {}, h("h2", { text: "Data" }), table(payload.data)),
        payload.settings.length ? h("section", {}, h("h2", { text: "Settings" }), table(payload.settings)) : null,
      ),
      classes?.counts
        ? h("section", {}, h("h2", { text: `${capital(model.nouns.row[1])} per ${classes.noun[0]}` }), counts(classes))
        : null,
    ),
    h("footer", { class: "foot", text: `Made with tsenet ${payload.tsenet}. This file holds everything it shows and makes no network requests.` }),
  );
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
