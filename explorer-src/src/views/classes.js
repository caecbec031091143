// Which units raise the output of a class, and which lower it.
import { h, name } from "../dom.js";
import { bar } from "../bars.js";
import { capital, count, signed } from "../format.js";

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
  const all = model.unitsOf(cls);
  const found = all.filter(([unit]) => level === null || model.level[unit] === level);
  const most = Math.abs(found[0]?.[1] ?? 1);
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
  const levels = Array.from({ length: model.nLevels }, (_, k) => k + 1);
  const side = (title, items, empty) =>
    h(
      "section",
      {},
      h("h2", { text: title }),
      items.length
        ? h(
            "ol",
            { class: "rows" },
            items.map(([unit, effect]) =>
              h(
                "li",
                {},
                h(
                  "a",
                  { class: "row effect wide", href: router.hrefNode(unit) },
                  h("span", { class: "chip", text: model.level[unit], title: model.levelName(model.level[unit]) }),
                  h(
                    "span",
                    { class: "grow two-lines" },
                    name(model.trainedLabel(unit) || model.label(unit)),
                    name(model.label(unit), { class: "where" }),
                  ),
                  bar(effect, most),
                  h("span", { class: "value", text: signed(effect) }),
                ),
              ),
            ),
          )
        : h("p", { class: "note", text: empty }),
    );
  const pro = found.filter(([, effect]) => effect > 0).slice(0, 20);
  const contra = found.filter(([, effect]) => effect < 0).slice(0, 20);
  return [
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow", text: capital(view.noun[0]) }),
      h("h1", {}, name(view.names[cls])),
      h("p", {
        class: "lead",
        text: `How far this output moves, on average, when a unit’s activation rises by one standard deviation. The ${view.perClass} strongest units are known.`,
      }),
      h(
        "div",
        { class: "head-tools" },
        model.nLevels > 1
          ? h("div", { class: "segments", role: "group", "aria-label": "Level of the units" }, pick("All levels", null), levels.map((k) => pick(String(k), k)))
          : null,
        h("a", { class: "button", href: `#${new URLSearchParams({ view: "tree", colour: view.names[cls] })}`, text: "Show in the tree" }),
      ),
    ),
    h("div", { class: "two" }, side("Raise it", pro, "None at this level."), side("Lower it", contra, "None at this level.")),
  ];
}
