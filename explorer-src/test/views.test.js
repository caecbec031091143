import assert from "node:assert/strict";
import { test } from "node:test";
import { tail } from "../src/views/classes.js";
import { apart, tickText } from "../src/views/training.js";
import { alongLines, csv, unitLines } from "../src/csv.js";
import { namedBins } from "../src/views/columns.js";
import { sorted } from "../src/views/list.js";
import { splitWords } from "../src/views/panel.js";
import { model } from "./payload.js";

test("what is not listed is summed up", () => {
  const listed = [{ effect: 3 }, { effect: -1 }];
  assert.equal(tail(listed, { n: 802, sum: 5 }, ["unit", "units"]), "800 more units: 20 % of the sum.");
  assert.equal(tail(listed, { n: 3, sum: 4.04 }, ["unit", "units"]), "1 more unit: 1.0 % of the sum.");
  assert.equal(tail(listed, { n: 2, sum: 4 }, ["unit", "units"]), "");
});

test("ticks that would overprint are left out", () => {
  assert.deepEqual(apart([1, 2, 4, 10], (tick) => 10 * tick, 20), [1, 4, 10]);
  assert.equal(tickText(1e-7), "10⁻⁷");
  assert.equal(tickText(2e-12), "2·10⁻¹²");
  assert.equal(tickText(0.25), "0.25");
});

test("words of a topic are marked in a text, whatever their case and accents", () => {
  const pieces = splitWords("Crude OIL, and a café.", new Set(["oil"]), new Set(["cafe"]));
  assert.deepEqual(pieces, [["Crude ", null], ["OIL", "listed"], [", and a ", null], ["café", "below"], [".", null]]);
});

test("tables become files that spreadsheets read as they are", () => {
  assert.equal(csv([["a", 1, null], ['say "x", y', -0.5, "=SUM(A1)"]]), 'a,1,\r\n"say ""x"", y",-0.5,\'=SUM(A1)\r\n');
  const lines = unitLines(model());
  assert.deepEqual(lines[0], ["topic", "level", "parent", "label", "share", "coherence", "words"]);
  assert.deepEqual(lines.find(([name]) => name === "Z1.0"), ["Z1.0", 1, "Z2.0", "crude, oil", 0.1, 0.2, "crude oil"]);
  assert.equal(lines.length, 6);
});

test("shares along a column are a table of bins and topics", () => {
  const along = { name: "year", bins: ["1990", "1991"], counts: [5, 7], of: [[0, 1], [2, 3], [4, 5], [6, 7], [5000, 8]] };
  const lines = alongLines(model({ along }));
  assert.deepEqual(lines[0].slice(0, 3), ["year", "documents", "said"]);
  assert.deepEqual(lines[1].slice(0, 3), ["1990", 5, 0.5]);
});

test("a list is sorted by text upwards and by numbers downwards, unknown ones last", () => {
  assert.deepEqual(sorted([0, 1, 2], (u) => ["b", "a", "c"][u]), [1, 0, 2]);
  assert.deepEqual(sorted([0, 1, 2], (u) => [0.1, null, 0.3][u]), [2, 0, 1]);
});

test("bins are named as far as there is room", () => {
  const bins = Array.from({ length: 36 }, (_, k) => `2020-${String(k).padStart(2, "0")}`);
  const named = namedBins(bins, 260);
  assert.ok(named.length >= 3 && named.length <= 5);
  assert.equal(named[0], 0);
  assert.deepEqual(namedBins(["a", "b", "c"], 260), [0, 1, 2]);
});
