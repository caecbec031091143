import assert from "node:assert/strict";
import { test } from "node:test";
import { fold } from "../src/model.js";
import { classes, model } from "./payload.js";

const names = (found, made) => found.map((node) => made.names[node]);

test("units come largest first, or in the order asked for", () => {
  const made = model();
  assert.deepEqual(names(made.roots, made), ["Z2.1", "Z2.0"]);
  assert.deepEqual(names(made.children[9], made), ["Z1.1", "Z1.0"]);
  made.sort("name");
  assert.deepEqual(names(made.roots, made), ["Z2.0", "Z2.1"]);
  assert.deepEqual(names(made.children[9], made), ["Z1.0", "Z1.1"]);
  made.sort("coherence"); // what is not known comes last
  assert.deepEqual(names(made.roots, made), ["Z2.0", "Z2.1"]);
  assert.deepEqual(names(made.children[9], made), ["Z1.1", "Z1.0"]);
});

test("all below a top unit has its colour", () => {
  const made = model();
  assert.deepEqual([9, 6, 7, 0, 3].map((node) => made.hues[node]), new Array(5).fill(made.hues[9]));
  assert.notEqual(made.hues[9], made.hues[10]);
});

test("topics may stand beside those of a higher level, and words below any of them", () => {
  // Z1.1 (7) is not shown: its words are directly below Z2.0; Z1.2 (8) is part of no other topic
  const made = model({
    layers: [6, 2, 1],
    names: ["oil", "crude", "wheat", "corn", "said", "<b>", "Z1.0", "Z1.2", "Z2.0"],
    parent: [6, 6, 8, 8, 7, -1, 8, -1, -1],
    units: { label: ["a", "b", "c"], share: [0.1, 0.8, 0.2], coherence: [], fields: [], features: [[], [], []] },
  });
  assert.deepEqual(names(made.roots, made), ["Z2.0", "Z1.2"]);
  assert.deepEqual(names(made.children[8], made), ["Z1.0", "wheat", "corn"]);
  assert.deepEqual(names(made.unitsUnder(8), made), ["Z1.0"]);
  assert.equal(made.wordsBelow[8], 4);
});

test("a tie is loose below three quarters of the median", () => {
  const of = (kinship) => model({ units: { ...model().payload.units, kinship } });
  const made = of([0.29, 0.4, 0.4, null, null]); // the median is .4
  assert.deepEqual(names([6, 7, 8, 9, 10, 0].filter((node) => made.isLoose(node)), made), ["Z1.0"]);
  assert.equal(made.hasLoose, true);
  assert.equal(of([0.31, 0.4, 0.4, null, null]).hasLoose, false);
  assert.equal(of([0.25, 0.4, 0.6, 0.4, null]).hasLoose, true); // of an even number, the median is the mean of the middle two
  assert.equal(of([-0.1, -0.4, -0.4, null, null]).hasLoose, false); // nothing strong to compare with
  for (const unknown of [[], undefined]) assert.equal(of(unknown).hasLoose, false);
});

test("one word finds the word before the topics that have it", () => {
  const made = model();
  assert.deepEqual(names(made.find("CRUDE"), made), ["crude", "Z2.0", "Z1.0"]);
  assert.deepEqual(made.find("  "), []);
  assert.deepEqual(made.find("nothing"), []);
});

test("two words find the topics with both, in any order, then the words", () => {
  const made = model();
  assert.deepEqual(names(made.find("crude oil"), made), ["Z1.0", "oil", "crude"]);
  assert.deepEqual(names(made.find("oil, crude"), made), ["Z1.0", "oil", "crude"]);
});

test("words of different groups find the smallest topic that holds both", () => {
  const made = model();
  assert.deepEqual(names(made.find("oil corn"), made), ["Z2.0", "oil", "corn"]);
  assert.deepEqual(names(made.find("oil said"), made), ["oil", "said"]);
});

test("markup and accents are plain text", () => {
  const made = model();
  assert.deepEqual(names(made.find("<b>"), made), ["<b>"]);
  assert.equal(fold("Ärger É"), "arger e");
});

test("effects on a class are strongest first, and their total knows what is not listed", () => {
  const made = model({ classes });
  assert.deepEqual(made.unitsOf(0), [[6, 2], [9, 1]]);
  assert.deepEqual(made.directOf(0), [[1, 0.5], [0, -0.25]]);
  assert.deepEqual(made.total(0, [1, 2], 1), { n: 3, sum: 5 });
  assert.deepEqual(made.total(1, [1], -1), { n: 1, sum: 1 });
});
