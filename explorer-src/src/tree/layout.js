// Where the visible nodes stand: a row for each visible leaf, a parent on the row of its first child.
import { cluster, hierarchy } from "d3-hierarchy";

const rows = cluster()
  .nodeSize([1, 1])
  .separation(() => 1);

/**
 * @param model the Model
 * @param open set of nodes whose children are shown
 * @returns `{order, first, last, nRows}`: visible nodes from top to bottom as a reader walks them, the first and last row
 *   of all that is shown below each node, by node (NaN for a hidden one), and the number of rows.
 */
export function layout(model, open) {
  const root = hierarchy(-1, (node) => (node < 0 ? model.roots : open.has(node) ? model.children[node] : null));
  rows(root);
  const order = [];
  const first = new Float64Array(model.nNodes).fill(NaN);
  const last = new Float64Array(model.nNodes).fill(NaN);
  root.eachBefore((item) => {
    if (item.data >= 0) order.push(item.data);
  });
  const leaves = root.leaves();
  const start = leaves[0].x;
  root.eachAfter((item) => {
    if (item.data < 0) return;
    const below = item.children;
    first[item.data] = below ? first[below[0].data] : item.x - start;
    last[item.data] = below ? last[below.at(-1).data] : item.x - start;
  });
  return { order, first, last, nRows: order.length ? leaves.at(-1).x - start + 1 : 0 };
}

/** What is open at first: as many levels as a screen holds and, if wanted, one way down to the words as an example. */
export function openAtFirst(model, most, example) {
  const open = new Set();
  let level = model.roots;
  for (;;) {
    const below = level.flatMap((node) => model.children[node]);
    if (below.length > most || below.some((node) => !model.isUnit(node))) break;
    level.forEach((node) => open.add(node));
    level = below;
  }
  let at = example ? (model.roots.find((node) => model.wordsBelow[node] > 2) ?? model.roots[0]) : undefined;
  while (at !== undefined && model.isUnit(at)) {
    open.add(at);
    at = model.children[at].find((node) => model.isUnit(node));
  }
  return open;
}
