// Horizontal bars in lists, and the two kinds of lines.
import { h, s } from "./dom.js";

/** A bar for a value between −most and most; negative ones grow to the left from the middle. */
export function bar(value, most, { diverging = false } = {}) {
  const share = most > 0 ? Math.min(1, Math.abs(value) / most) : 0;
  const side = value < 0 ? "against" : "for";
  return h(
    "span",
    { class: `bar${diverging ? " diverging" : ""}`, "aria-hidden": "true" },
    h("span", { class: `fill ${side}`, vars: { "--share": share } }),
  );
}

/** A short line: "solid" for links of the tree, "dashed" for added ones, "loose" for weak ties. */
export function lineGlyph(kind) {
  return s(
    "svg",
    { class: `glyph ${kind}`, width: 22, height: 10, viewBox: "0 0 22 10", "aria-hidden": "true" },
    s("line", { x1: 1, y1: 5, x2: 21, y2: 5 }),
  );
}

/** A list that shows its first items, and the rest on demand. */
export function shortList(items, make, { first = 8, label = "Show all", className = "rows" } = {}) {
  const list = h("ul", { class: className }, items.slice(0, first).map(make));
  if (items.length <= first) return [list];
  const more = h("button", {
    type: "button",
    class: "more",
    text: `${label} ${items.length}`,
    onclick: () => {
      list.append(...items.slice(first).map(make));
      more.remove();
      list.children[first].querySelector("a, button")?.focus();
    },
  });
  return [list, more];
}
