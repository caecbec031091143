// Upright bars over the bins of a column.
import { scaleBand, scaleLinear } from "d3-scale";
import { h, name, s } from "../dom.js";
import { bar } from "../bars.js";
import { count, percent } from "../format.js";

/** Shares by bin: in order as upright bars, labels as a list from the largest. */
export function shares(values, view, options = {}) {
  if (view.kind !== "labels") return columns(values, view, options);
  const ranked = values.map((value, k) => [value, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  const most = ranked[0]?.[0] || 1;
  return h(
    "ul",
    { class: "rows" },
    ranked.slice(0, options.most ?? 6).map(([value, k]) =>
      h(
        "li",
        {},
        h("div", { class: "row bin", title: `of ${count(view.counts[k])}` }, name(view.bins[k], { class: "grow" }), bar(value, most), h("span", { class: "value", text: percent(value) })),
      ),
    ),
  );
}

/** A small chart of shares by bin; each bar says its value to a pointer and, as a table, to a screen reader. */
function columns(values, view, { width = 340, height = 90, labels = true } = {}) {
  const most = Math.max(...values) || 1;
  const x = scaleBand(values.map((_, k) => k), [0, width]).paddingInner(0.12);
  const y = scaleLinear([0, most], [0, height - 2]);
  const named = values.map((value, k) => `${view.bins[k]}: ${percent(value)} of ${count(view.counts[k])}`);
  const svg = s(
    "svg",
    { class: "columns", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    values.map((value, k) =>
      s(
        "g",
        {},
        s("rect", { class: "hit", x: x(k), y: 0, width: x.bandwidth(), height }),
        s("rect", { class: "col", x: x(k), y: height - y(value), width: x.bandwidth(), height: Math.max(value > 0 ? 1 : 0, y(value)) }),
        s("title", { text: named[k] }),
      ),
    ),
  );
  return h(
    "figure",
    { class: "chart-small" },
    h("span", { class: "top-value", text: percent(most), "aria-hidden": "true" }),
    svg,
    labels
      ? h(
          "div",
          { class: "ends", "aria-hidden": "true" },
          h("bdi", { text: view.bins[0] }),
          view.bins.length > 1 ? h("bdi", { text: view.bins.at(-1) }) : null,
        )
      : null,
    h("ul", { class: "sr" }, named.map((text) => h("li", { text }))),
  );
}
