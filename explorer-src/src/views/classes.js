// Which units raise the output of a class, and which lower it.
import { h, name } from "../dom.js";
import { bar, shortList } from "../bars.js";
import { capital, count, percent, signed } from "../format.js";

let level = null; // the reader's choice outlasts a change of class

export function classesView(model, router, state) {
  const view = model.payload.classes;
  const chosen = state.cls ?? 0;
  const biggest = Math.max(1, ...(view.counts ?? []));
  const list = h(
    "nav",
    { class: "class-list", "aria-label": capital(view.noun[1]) },
    h(
      "ul",
      {},
      view.names.map((text, k) =>
        h(
          "li",
          {},
          h(
            "a",
            { href: router.hrefClass(k), class: "row", "aria-current": k === chosen ? "true" : null },
            name(text, { class: "grow" }),
            view.counts ? h("span", { class: "value", text: count(view.counts[k]) }) : null,
            view.counts ? bar(view.counts[k], biggest) : null,
          ),
        ),
      ),
    ),
  );
  const select = h(
    "select",
    { class: "class-select", "aria-label": capital(view.noun[0]), onchange: (event) => router.go(router.hrefClass(Number(event.target.value))) },
    view.names.map((text, k) => h("option", { value: k, text, selected: k === chosen })),
  );
  const body = h("div", { class: "class-body" });
  const fill = () => body.replaceChildren(...content(model, router, chosen, fill));
  fill();
  return h("div", { class: "page classes" }, list, select, body);
}

function content(model, router, cls, again) {
  const view = model.payload.classes;
  const units = model
    .unitsOf(cls)
    .filter(([unit]) => level === null || model.level[unit] === level)
    .map(([unit, effect]) => unitItem(model, router, unit, effect));
  const levels = Array.from({ length: model.nLevels }, (_, k) => k + 1);
  const layers = level === null ? levels : [level];
  const pick = (label, value) =>
    h("button", {
      type: "button",
      "aria-pressed": String(level === value),
      text: label,
      onclick: () => {
        level = value;
        again();
        document.querySelector(".segments [aria-pressed=true]")?.focus();
      },
    });
  const direct = model.directOf(cls).map(([node, effect]) => inputItem(model, router, node, effect));
  const { input } = model.nouns;
  return [
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow", text: capital(view.noun[0]) }),
      h("h1", {}, name(view.names[cls])),
      h("p", {
        class: "lead",
        text: "How far this output moves, on average, when a unit’s activation rises by one standard deviation.",
      }),
      h(
        "div",
        { class: "head-tools" },
        h(
          "div",
          { class: "segments", role: "group", "aria-label": "Level of the units" },
          pick("All levels", null),
          model.nLevels > 1 ? levels.map((k) => pick(String(k), k)) : null,
        ),
        h("a", { class: "button", href: `#${new URLSearchParams({ view: "tree", colour: view.names[cls] })}`, text: "Show in the tree" }),
      ),
    ),
    sides(model, cls, units, layers, ["Raise it", "Lower it"], ["unit", "units"]),
    view.direct
      ? h(
          "section",
          { class: "direct" },
          h("h2", { class: "direct-head", text: `${capital(input[1])} that speak directly` }),
          h("p", {
            class: "note",
            text: `By the linear skip, past all units: how far the output moves when ${input[0]} values rise by one standard deviation.`,
          }),
          sides(model, cls, direct, [0], ["For it", "Against it"], input),
        )
      : null,
  ].filter(Boolean);
}

function unitItem(model, router, unit, effect) {
  return {
    effect,
    href: router.hrefNode(unit),
    chip: [model.level[unit], model.levelName(model.level[unit])],
    lines: [model.trainedLabel(unit) || model.label(unit), model.label(unit)],
  };
}

function inputItem(model, router, node, effect) {
  const above = model.parent[node];
  return { effect, href: router.hrefNode(node), chip: null, lines: [model.names[node], above < 0 ? "in no group" : model.label(above)] };
}

/** Two columns: what raises the output, and what lowers it. */
function sides(model, cls, items, layers, titles, nouns) {
  const most = Math.max(...items.map((item) => Math.abs(item.effect)), 1e-12);
  const side = (title, sign) => {
    const chosen = items.filter((item) => Math.sign(item.effect) === sign);
    return h(
      "section",
      {},
      h("h2", { text: title }),
      chosen.length ? shortList(chosen, (item) => row(item, most), { first: 12 }) : h("p", { class: "note", text: "None." }),
      h("p", { class: "note tail", text: tail(chosen, model.total(cls, layers, sign), nouns) }),
    );
  };
  return h("div", { class: "two" }, side(titles[0], 1), side(titles[1], -1));
}

/** How much is not listed: "800 more units: 12 % of the sum." */
export function tail(listed, { n, sum }, nouns) {
  const left = n - listed.length;
  if (left <= 0) return "";
  const share = sum > 0 ? Math.max(0, 1 - listed.reduce((a, item) => a + Math.abs(item.effect), 0) / sum) : 0;
  return `${count(left)} more ${left === 1 ? nouns[0] : nouns[1]}: ${percent(share)} of the sum.`;
}

function row({ effect, href, chip, lines: [first, second] }, most) {
  return h(
    "li",
    {},
    h(
      "a",
      { class: "row effect wide", href },
      chip && h("span", { class: "chip", text: chip[0], title: chip[1] }),
      h("span", { class: "grow two-lines" }, name(first), second === first ? null : name(second, { class: "where" })),
      bar(effect, most),
      h("span", { class: "value", text: signed(effect) }),
    ),
  );
}
