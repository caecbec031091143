// A small report for the tests: six words, four groups of two levels, and two classes.
import { Model } from "../src/model.js";

//               0      1        2       3       4       5
const WORDS = ["oil", "crude", "wheat", "corn", "said", "<b>"];
// level 1: 6 (oil, crude), 7 (wheat, corn), 8 (said); level 2: 9 (6 and 7), 10 (8); "<b>" is in no group
export function payload(more = {}) {
  return {
    kind: "tree",
    title: "Test",
    nouns: { input: ["word", "words"], row: ["document", "documents"], unit: ["topic", "topics"] },
    layers: [6, 3, 2],
    names: [...WORDS, "Z1.0", "Z1.1", "Z1.2", "Z2.0", "Z2.1"],
    parent: [6, 6, 7, 7, 8, -1, 9, 9, 10, -1, -1],
    strength: new Array(11).fill(1),
    strengthKind: "log-odds",
    links: null,
    nRows: null,
    units: {
      label: ["crude, oil", "wheat, corn", "said", "crude, wheat", "said"],
      share: [0.1, 0.12, 0.8, 0.2, 0.8],
      coherence: [0.2, 0.4, null, 0.1, null],
      kinship: [],
      fields: ["information", "inside", "outside"],
      features: [[1, 0.2, 0.5, 0.01, 0, 0.1, 0.4, 0.02], [2, 0.2, 0.5, 0.01], [4, 0.3, 0.9, 0.4], [1, 0.1, 0.4, 0.1], [4, 0.3, 0.9, 0.4]],
    },
    trained: null,
    rows: null,
    classes: null,
    documents: null,
    along: null,
    network: null,
    training: null,
    data: [],
    settings: [],
    ...more,
  };
}

export const classes = {
  noun: ["class", "classes"],
  names: ["energy", "farming & more"],
  counts: null,
  perUnit: 8,
  perClass: 60,
  of: [[0, 2, 1, -1], [1, 3], [], [0, 1], []],
  direct: [[1, 0.5, 0, -0.25], []],
  totals: [
    [[3, 1, 1, 0.25], [2, 4, 0, 0], [1, 1, 0, 0]],
    [[0, 0, 0, 0], [1, 3, 1, 1], [0, 0, 0, 0]],
  ],
};

export const model = (more) => new Model(payload(more));

/** A model of many topics: `top` roots with `inside` subtopics each, one word under each of these. */
export function wide(top, inside, { share = () => 0.1 } = {}) {
  const n = top * inside;
  const names = [];
  const parent = [];
  for (let k = 0; k < n; k += 1) [names[k], parent[k]] = [`w${k}`, n + k];
  for (let k = 0; k < n; k += 1) [names[n + k], parent[n + k]] = [`Z1.${k}`, 2 * n + Math.floor(k / inside)];
  for (let k = 0; k < top; k += 1) [names[2 * n + k], parent[2 * n + k]] = [`Z2.${k}`, -1];
  const units = Array.from({ length: n + top }, (_, u) => u);
  return new Model({
    ...payload(),
    layers: [n, n, top],
    names,
    parent,
    strength: names.map(() => 1),
    units: { label: units.map((u) => names[n + u]), share: units.map(share), coherence: [], fields: [], features: units.map(() => []) },
  });
}
