// Nodes and links on the canvas. Links of the tree are solid, or dashed where a topic is loosely tied to the one above;
// added ones, drawn for the selected node, are dashed too: no model has both.
import { HUES } from "../model.js";

const DASHES = [5, 4];
const MOST_ADDED = 24;
const MOST_HIDDEN = 10; // of those, to groups that hide the other end

/** Colours of the page, read from its style so that both themes have theirs. */
function colours(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    line: read("--tree-line"),
    hues: Array.from({ length: HUES }, (_, k) => read(`--hue-${k}`)),
    paper: read("--paper"),
    word: read("--ink-3"),
    path: read("--accent"),
    added: read("--added"),
    for: read("--for"),
    against: read("--against"),
    neutral: read("--neutral"),
  };
}

export function draw(tree) {
  const { canvas, camera, ratio = 1 } = tree;
  const context = canvas.getContext("2d");
  const colour = colours(tree.element);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, camera.width, camera.height);
  const focus = tree.hovered ?? tree.selected;
  const path = new Set(focus === null ? [] : [focus, ...tree.model.path(focus)]);
  links(tree, context, colour, path);
  if (tree.selected !== null) addedLinks(tree, context, colour);
  nodes(tree, context, colour, path);
}

function curve(context, x0, y0, x1, y1) {
  const middle = (x0 + x1) / 2;
  context.moveTo(x0, y0);
  context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
}

/** Where a link leaves its parent: behind the label if there is one. */
function leave(tree, node) {
  const width = tree.labelWidth(node);
  return tree.xOf(node) + tree.radius(node) + (width ? width + 9 : 0);
}

function links(tree, context, colour, path) {
  const { model } = tree;
  const plain = [];
  const bright = [];
  for (const [parent, from, to] of tree.links) {
    const children = model.children[parent];
    const y0 = tree.yOf(parent);
    const x0 = leave(tree, parent);
    let drawn = -Infinity;
    for (let k = from; k <= to; k += 1) {
      const child = children[k];
      const x1 = tree.xOf(child);
      const y1 = tree.yOf(child);
      if (path.has(child)) {
        bright.push([child, x0, y0, x1 - tree.radius(child), y1]);
        continue;
      }
      // Far out, many links fall on one line of pixels: one of them is enough.
      if (Math.abs(y1 - drawn) < 0.8) continue;
      drawn = y1;
      plain.push([child, x0, y0, x1 - tree.radius(child), y1]);
    }
  }
  context.strokeStyle = colour.line;
  context.lineWidth = 1.2;
  // Far out the lines become a surface, which should not outshine the labels on it.
  context.globalAlpha = Math.min(1, 0.35 + tree.camera.k);
  strokeLinks(model, context, plain);
  context.globalAlpha = 1;
  context.strokeStyle = colour.path;
  context.lineWidth = 2.2;
  strokeLinks(model, context, bright);
}

/** Links `[child, x0, y0, x1, y1]` in the style that is set: the loose ones dashed. */
function strokeLinks(model, context, all) {
  for (const loose of [false, true]) {
    context.setLineDash(loose ? DASHES : []);
    context.beginPath();
    for (const [child, ...ends] of all) if (model.isLoose(child) === loose) curve(context, ...ends);
    context.stroke();
  }
  context.setLineDash([]);
}

/** Dashed links of the selected node; those to hidden nodes lead to the group that holds them. */
function addedLinks(tree, context, colour) {
  const { model, selected } = tree;
  const from = tree.visible(selected);
  if (from === null) return;
  const ends = new Map(); // other end → strength, and whether it only stands for one inside it
  const add = (node, strength) => {
    const end = tree.visible(node);
    if (end === null || end === from) return;
    const [most, hidden] = ends.get(end) ?? [0, true];
    ends.set(end, [Math.max(most, Math.abs(strength)), hidden && end !== node]);
  };
  for (const [unit, strength] of model.above[selected]) add(unit, strength);
  if (model.isUnit(selected)) for (const [node, strength] of model.addedBelow(selected)) add(node, strength);
  const ranked = [...ends].map(([end, [strength, hidden]]) => ({ end, strength, hidden })).sort((a, b) => b.strength - a.strength);
  const shown = ranked.filter((link) => !link.hidden).slice(0, MOST_ADDED);
  const implied = ranked.filter((link) => link.hidden).slice(0, Math.max(0, Math.min(MOST_HIDDEN, MOST_ADDED - shown.length)));
  const most = ranked[0]?.strength || 1;
  context.setLineDash(DASHES);
  context.strokeStyle = colour.added;
  for (const { end, strength, hidden } of [...implied, ...shown]) {
    const up = tree.xOf(end) < tree.xOf(from);
    const [upper, lower] = up ? [end, from] : [from, end];
    context.globalAlpha = (hidden ? 0.5 : 1) * (0.4 + 0.6 * (strength / most));
    context.lineWidth = (hidden ? 0.8 : 1.1) + 1.2 * (strength / most);
    context.beginPath();
    if (model.level[upper] === model.level[lower]) arc(tree, context, upper, lower);
    else curve(context, leave(tree, upper), tree.yOf(upper), tree.xOf(lower) - tree.radius(lower), tree.yOf(lower));
    context.stroke();
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

/** Between two nodes of one column: a bow to the left of both. */
function arc(tree, context, a, b) {
  const x = tree.xOf(a) - tree.radius(a) - 2;
  const [y0, y1] = [tree.yOf(a), tree.yOf(b)];
  const bow = Math.min(70, 14 + Math.abs(y1 - y0) / 8);
  context.moveTo(x, y0);
  context.bezierCurveTo(x - bow, y0, x - bow, y1, x, y1);
}

function nodes(tree, context, colour, path) {
  const { model, camera } = tree;
  const effect = tree.colour === null ? null : tree.effects;
  const shrink = Math.min(1, 0.45 + (0.55 * camera.k * 30) / 17);
  for (const [node, y] of tree.seen) {
    const x = tree.xOf(node);
    const unit = model.isUnit(node);
    const r = tree.radius(node) * shrink;
    const marked = path.has(node) || node === tree.selected;
    let fill = unit ? colour.hues[model.hues[node]] : colour.paper;
    if (effect && unit) fill = shade(effect.get(node) ?? 0, tree.most, colour);
    context.beginPath();
    context.arc(x, y, r, 0, 2 * Math.PI);
    const closed = model.children[node].length > 0 && !tree.open.has(node);
    context.fillStyle = marked && !effect ? colour.path : fill;
    context.globalAlpha = unit && !marked && !effect && !closed && model.parent[node] >= 0 ? 0.45 : 1;
    context.fill();
    context.globalAlpha = 1;
    if (!unit || marked) {
      context.strokeStyle = marked ? colour.path : colour.word;
      context.lineWidth = marked ? 2 : 1.2;
      context.stroke();
    }
    if (closed && r > 4) plus(context, x, y, r, colour.paper);
  }
}

/** A small cross: there is more inside. */
function plus(context, x, y, r, ink) {
  const arm = Math.min(3.2, r * 0.5);
  context.beginPath();
  context.moveTo(x - arm, y);
  context.lineTo(x + arm, y);
  context.moveTo(x, y - arm);
  context.lineTo(x, y + arm);
  context.strokeStyle = ink;
  context.lineWidth = 1.4;
  context.stroke();
}

function shade(effect, most, colour) {
  const share = most ? Math.min(1, Math.abs(effect) / most) : 0;
  return mix(colour.neutral, effect < 0 ? colour.against : colour.for, Math.sqrt(share));
}

/** Between two colours given as #rrggbb. */
export function mix(a, b, share) {
  const parts = [1, 3, 5].map((k) => {
    const [from, to] = [a, b].map((text) => Number.parseInt(text.slice(k, k + 2), 16));
    return Math.round(from + (to - from) * share);
  });
  return `rgb(${parts.join(",")})`;
}
