// Where the documents of the map lie: near the topics that they have. Topics are circles, subtopics inside those above.
import { hierarchy, pack } from "d3-hierarchy";
import { pairs } from "../model.js";

export const SIZE = 1000; // of the frame, in its own units
const TURN = Math.PI * (3 - Math.sqrt(5)); // the golden angle: points of a spiral with it are evenly spread
const FILLED = 0.86; // of a circle's radius
const PULL = 0.6; // of the way to the documents' other topics

/** Circles of the units shown: `Map` of node to `{x, y, r, depth}`. */
export function circles(model) {
  const data = { node: null, children: model.roots.map((node) => nested(model, node)) };
  const root = hierarchy(data).sum((item) => (item.children?.length ? 0 : model.room(item.node)));
  root.sort((a, b) => b.value - a.value);
  pack().size([SIZE, SIZE]).padding((item) => (item.depth ? 4 : 14))(root);
  const found = new Map();
  for (const item of root.descendants()) {
    if (item.data.node !== null) found.set(item.data.node, { x: item.x, y: item.y, r: item.r, depth: item.depth });
  }
  return found;
}

function nested(model, node) {
  return { node, children: model.unitsUnder(node).map((below) => nested(model, below)) };
}

/**
 * Documents as points: evenly spread over the circle of their main topic, and drawn towards their other topics.
 * @returns `[{x, y, main, index}]` in the order of the payload
 */
export function points(documents, places) {
  const seats = new Map(); // of each topic, how many documents it has
  for (const flat of documents.of) seats.set(flat[0], (seats.get(flat[0]) ?? 0) + 1);
  const taken = new Map();
  return documents.of.map((flat, index) => {
    const topics = pairs(flat);
    const [main] = topics[0];
    const { x, y, r } = places.get(main);
    const seat = taken.get(main) ?? 0;
    taken.set(main, seat + 1);
    const distance = FILLED * r * Math.sqrt((seat + 0.5) / seats.get(main));
    const own = { x: x + distance * Math.cos(seat * TURN), y: y + distance * Math.sin(seat * TURN) };
    const total = topics.reduce((sum, [, strength]) => sum + strength, 0);
    let [dx, dy] = [0, 0];
    for (const [node, strength] of topics.slice(1)) {
      const other = places.get(node);
      dx += (strength / total) * (other.x - own.x);
      dy += (strength / total) * (other.y - own.y);
    }
    return { x: own.x + PULL * dx, y: own.y + PULL * dy, main, index };
  });
}
