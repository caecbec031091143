// All units as a table that can be sorted and saved.
import { h, name } from "../dom.js";
import { downloadLink, unitLines } from "../csv.js";
import { capital, count, counted, number, percent } from "../format.js";

const AT_ONCE = 100;
const state = { level: null, order: null, shown: AT_ONCE };

export function listView(model, router) {
  if (state.order === null) state.order = model.hasShares ? "share" : "label";
  const body = h("div", { class: "page list" });
  const fill = () => body.replaceChildren(...content(model, router, fill));
  fill();
  return body;
}

function columnsOf(model) {
  const { nouns } = model;
  const columns = [{ key: "label", title: capital(nouns.unit[0]), value: (u) => model.label(u) }];
  columns.push({ key: "level", title: "Level", value: (u) => model.level[u], text: (v) => v });
  if (model.hasShares) columns.push({ key: "share", title: "Share", value: (u) => model.share(u), text: percent });
  if (model.payload.units.coherence.length) {
    columns.push({ key: "coherence", title: "Coherence", value: (u) => model.coherence(u), text: (v) => (v === null ? "–" : number(Number(v.toFixed(2)))) });
  }
  return columns;
}

/** Text from A to Z, numbers from the largest down; what is not known comes last. */
export function sorted(units, value) {
  return [...units].sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (typeof x === "string") return x.localeCompare(y) || a - b;
    return (y ?? -Infinity) - (x ?? -Infinity) || a - b;
  });
}

function content(model, router, fill) {
  const columns = columnsOf(model);
  const units = sorted(model.unitsOfLevel(state.level), columns.find(({ key }) => key === state.order).value);
  const set = (change) => {
    Object.assign(state, { shown: AT_ONCE }, change);
    fill();
  };
  const pick = (text, level) =>
    h("button", { type: "button", "aria-pressed": String(state.level === level), text, onclick: () => set({ level }) });
  const levels = Array.from({ length: model.nLevels }, (_, k) => model.nLevels - k);
  const head = ({ key, title }, k) =>
    h(
      "th",
      { scope: "col", class: k ? "num" : null, "aria-sort": key === state.order ? (key === "label" ? "ascending" : "descending") : null },
      h("button", { type: "button", class: "sorter", text: title, onclick: () => set({ order: key }) }),
    );
  return [
    h(
      "header",
      { class: "page-head" },
      h("h1", { text: counted(units.length, model.nouns.unit) }),
      h(
        "div",
        { class: "head-tools" },
        h("span", { class: "tool-label", text: "Level" }),
        h("div", { class: "segments", role: "group", "aria-label": "Level" }, pick("All", null), levels.map((level) => pick(level === model.nLevels ? `${level} (top)` : level, level))),
        downloadLink("Download as CSV", "topics.csv", () => unitLines(model)),
      ),
    ),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "units" },
        h("thead", {}, h("tr", {}, columns.map(head), h("th", { scope: "col", class: "wide-only", text: capital(model.nouns.input[1]) }))),
        h("tbody", {}, units.slice(0, state.shown).map((unit) => line(model, router, unit, columns))),
      ),
    ),
    units.length > state.shown
      ? h("button", {
          type: "button",
          class: "more",
          text: `Show ${Math.min(AT_ONCE, units.length - state.shown)} more of ${count(units.length)}`,
          onclick: () => set({ shown: state.shown + AT_ONCE }),
        })
      : "",
  ];
}

function line(model, router, unit, [, ...numbers]) {
  const above = model.path(unit).reverse().map((at) => model.label(at)).join(" › ");
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h(
        "a",
        { class: "unit-link", href: router.hrefNode(unit) },
        h("span", { class: "swatch", vars: { "--own": `var(--hue-${model.hues[unit]})` }, "aria-hidden": "true" }),
        h("span", { class: "two-lines" }, name(model.label(unit)), above ? name(above, { class: "where" }) : null),
      ),
    ),
    numbers.map(({ value, text }) => h("td", { class: "num", text: text(value(unit)) })),
    h("td", { class: "words wide-only" }, name(model.features(unit).map(([node]) => model.names[node]).join(", "))),
  );
}
