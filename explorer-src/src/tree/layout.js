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

const FEW = 4; // with fewer rows than this there is nothing to see: open more, however wide it becomes

/**
 * What is open at first: whole levels as long as they fit, then those units of the last one that fit. It stops at topics;
 * words come on demand.
 * @param most rows that fit the window
 * @param fits whether the columns of an open set fit the window
 */
export function openToFit(model, most, fits) {
  const open = new Set();
  let level = model.roots;
  for (;;) {
    const below = level.flatMap((node) => model.unitsUnder(node));
    const next = new Set([...open, ...level]);
    if (!below.length || below.length > most || (level.length >= FEW && !fits(next))) break;
    level.forEach((node) => open.add(node));
    level = below;
  }
  let rows = level.length;
  for (const node of level) {
    const inside = model.unitsUnder(node).length;
    if (!inside || rows + inside - 1 > most || !fits(new Set([...open, node]))) continue;
    open.add(node);
    rows += inside - 1;
  }
  return open;
}
