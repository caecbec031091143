// Where the cells of the map lie: a treemap of the top topics, with their subtopics inside those that have the room.
import { hierarchy, treemap, treemapSquarify } from "d3-hierarchy";

const FEW = 4; // fewer top topics than this are opened: one cell is no map
const CELL = 10000; // square pixels that a label needs
export const HEAD = 26; // height of a top cell's own line, above its subtopics
const NESTED = [150, 84]; // least width and height of a cell with subtopics in it
const INSIDE = 7000; // square pixels of a subtopic
const WORD = [56, 28]; // least width and height of a subtopic: a short word
const GAP = 3;

/** The topics of the map: the top ones, or those below where there are too few of them. */
export function mapTopics(model) {
  let topics = model.roots;
  for (;;) {
    const below = topics.flatMap((node) => (model.unitsUnder(node).length ? model.unitsUnder(node) : [node]));
    if (topics.length >= FEW || below.length === topics.length) return topics;
    topics = below;
  }
}

/**
 * @returns cells `{node, x, y, width, height, inner}`, where `inner` are cells of subtopics, within the same frame; the
 *   last has `node: null` and `more`, the number of topics that have no room of their own.
 */
export function mapCells(model, width, height) {
  if (width <= 0 || height <= 0) return [];
  const topics = [...mapTopics(model)].sort((a, b) => model.room(b) - model.room(a));
  const most = Math.max(FEW, Math.floor((width * height) / CELL));
  const shown = topics.length > most ? topics.slice(0, most - 1) : topics;
  const items = shown.map((node) => ({ node, room: model.room(node) }));
  if (shown.length < topics.length) {
    const smallest = Math.min(...items.map((item) => item.room));
    items.push({ node: null, more: topics.length - shown.length, room: smallest });
  }
  return cells(items, 0, 0, width, height).map((cell) => ({ ...cell, inner: inside(model, cell) }));
}

/** Height at which every topic of the map has room. */
export function fullHeight(model, width) {
  return Math.ceil((mapTopics(model).length * CELL) / Math.max(1, width));
}

function cells(items, left, top, width, height) {
  // No cell is too small for a word: the least room is half of what all would have if they were equal.
  const least = items.reduce((a, item) => a + item.room, 0) / Math.max(1, items.length) / 2;
  const root = hierarchy({ children: items }, (item) => item.children).sum((item) => (item.children ? 0 : Math.max(least, item.room)));
  root.sort((a, b) => (a.data.node === null) - (b.data.node === null) || b.value - a.value);
  treemap().tile(treemapSquarify.ratio(1.4)).size([width, height]).paddingInner(GAP).round(true)(root);
  return (root.children ?? []).map((cell) => ({
    ...cell.data,
    x: left + cell.x0,
    y: top + cell.y0,
    width: cell.x1 - cell.x0,
    height: cell.y1 - cell.y0,
  }));
}

function inside(model, cell) {
  if (cell.node === null || cell.width < NESTED[0] || cell.height < NESTED[1]) return [];
  const [width, height] = [cell.width - 2 * GAP, cell.height - HEAD - GAP];
  const below = [...model.unitsUnder(cell.node)].sort((a, b) => model.room(b) - model.room(a));
  const most = Math.floor((width * height) / INSIDE);
  if (below.length < 2 || most < 2) return [];
  for (let shown = Math.min(most, below.length); shown > 1; shown -= 1) {
    const items = below.slice(0, shown).map((node) => ({ node, room: model.room(node) }));
    const found = cells(items, cell.x + GAP, cell.y + HEAD, width, height);
    if (found.every((part) => part.width >= WORD[0] && part.height >= WORD[1])) return found;
  }
  return [];
}
