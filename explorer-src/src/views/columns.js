// Shares over the bins of a column: upright bars with axes, or a list from the largest.
import { scaleBand, scaleLinear } from "d3-scale";
import { h, name, s } from "../dom.js";
import { bar } from "../bars.js";
import { count, percent } from "../format.js";

/** Shares by bin, as a chart where the bins have an order. */
export function shares(values, view) {
  if (view.kind !== "labels") return columns(values, view);
  return ranked(values.map((value, k) => ({ value, text: view.bins[k], title: `of ${count(view.counts[k])}` })), 6);
}

/** The largest of some items `{value, text, title, href}`, as bars. */
export function ranked(items, most) {
  const found = items.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value).slice(0, most);
  if (!found.length) return h("p", { class: "note", text: "None." });
  const line = ({ value, text, title, href }) =>
    h(
      "li",
      {},
      h(href ? "a" : "div", { class: "row bin", title, href }, name(text, { class: "grow" }), bar(value, found[0].value), h("span", { class: "value", text: percent(value) })),
    );
  return h("ul", { class: "rows" }, found.map(line));
}

/** Bins whose names are written below the axis: as many as have room, from the first on. */
export function namedBins(bins, width) {
  const room = Math.max(1, Math.floor(width / (6.5 * Math.max(...bins.map((bin) => bin.length)) + 14)));
  const step = Math.ceil(bins.length / room);
  const chosen = [];
  for (let k = 0; k < bins.length; k += step) chosen.push(k);
  return chosen;
}

/** Bars over an axis of bins; each says its value to a pointer and, as a list, to a screen reader. */
export function columns(values, view, { width = 340, height = 140 } = {}) {
  const [left, bottom, top] = [40, 22, 8];
  const x = scaleBand(values.map((_, k) => k), [left, width]).paddingInner(0.15);
  const y = scaleLinear([0, Math.max(...values) || 1], [height - bottom, top]).nice(3);
  const named = values.map((value, k) => `${view.bins[k]}: ${percent(value)} of ${count(view.counts[k])}`);
  const svg = s(
    "svg",
    { class: "columns", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    y.ticks(3).map((tick) =>
      s(
        "g",
        { class: "tick" },
        s("line", { x1: left, x2: width, y1: y(tick), y2: y(tick) }),
        s("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", text: percent(tick) }),
      ),
    ),
    values.map((value, k) =>
      s(
        "g",
        { class: "bin-bar" },
        s("rect", { class: "hit", x: x(k), y: top, width: x.bandwidth(), height: height - bottom - top }),
        s("rect", { class: "col", x: x(k), y: y(value), width: x.bandwidth(), height: Math.max(value > 0 ? 1 : 0, height - bottom - y(value)) }),
        s("title", { text: named[k] }),
      ),
    ),
    namedBins(view.bins, width - left).map((k) =>
      s("text", {
        x: Math.min(x(k), width - 6.5 * view.bins[k].length),
        y: height - 6,
        text: view.bins[k],
      }),
    ),
  );
  return h("figure", { class: "chart-small" }, svg, h("ul", { class: "sr" }, named.map((text) => h("li", { text }))));
}
