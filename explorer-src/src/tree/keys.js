// The keyboard of the tree, as the ARIA practices for trees have it, and + − 0 to zoom.

let typed = "";
let lastTyped = 0;

/** Do what a key asks for; returns whether it asked for anything. */
export function keyAction(tree, key) {
  const { model, layout, active } = tree;
  const at = tree.place.get(active) ?? 0;
  const step = (n) => tree.activate(layout.order[Math.max(0, Math.min(layout.order.length - 1, at + n))]);
  const children = model.children[active];
  switch (key) {
    case "ArrowDown":
      step(1);
      return true;
    case "ArrowUp":
      step(-1);
      return true;
    case "PageDown":
      step(10);
      return true;
    case "PageUp":
      step(-10);
      return true;
    case "Home":
      tree.activate(layout.order[0]);
      return true;
    case "End":
      tree.activate(layout.order.at(-1));
      return true;
    case "ArrowRight":
      if (children.length && !tree.open.has(active)) tree.toggle(active, true);
      else if (children.length) tree.activate(children[0]);
      return true;
    case "ArrowLeft":
      if (children.length && tree.open.has(active)) tree.toggle(active, false);
      else if (model.parent[active] >= 0) tree.activate(model.parent[active]);
      return true;
    case "Enter":
    case " ":
      // Enter opens a group and its panel; on the one that is already selected it folds and unfolds.
      if (tree.selected === active) tree.toggle(active);
      else {
        tree.toggle(active, true);
        tree.router.go(tree.router.hrefNode(active));
      }
      return true;
    case "*":
      (model.parent[active] < 0 ? model.roots : model.children[model.parent[active]]).forEach((node) => tree.open.add(node));
      tree.toggle(active, false);
      tree.toggle(active, true);
      return true;
    case "+":
    case "=":
      tree.camera.zoomBy(1.4, tree.yOf(active));
      return true;
    case "-":
      tree.camera.zoomBy(1 / 1.4, tree.yOf(active));
      return true;
    case "0":
      tree.camera.fit();
      return true;
    default:
      return typeAhead(tree, key, at);
  }
}

/** Letters lead to the next visible label that begins with them. */
function typeAhead(tree, key, at) {
  if (key.length !== 1 || !/\p{L}|\p{N}/u.test(key)) return false;
  const now = performance.now();
  typed = now - lastTyped < 700 ? typed + key.toLowerCase() : key.toLowerCase();
  lastTyped = now;
  const { order } = tree.layout;
  for (let k = typed.length > 1 ? 0 : 1; k <= order.length; k += 1) {
    const node = order[(at + k) % order.length];
    if (tree.model.search[node].startsWith(typed)) {
      tree.activate(node);
      break;
    }
  }
  return true;
}
