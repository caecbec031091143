import assert from "node:assert/strict";
import { test } from "node:test";
import { tail } from "../src/views/classes.js";
import { orderOfFeatures } from "../src/views/features.js";
import { apart, tickText } from "../src/views/training.js";
import { featureLayer } from "./payload.js";

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

test("feature units come by their strongest effect", () => {
  assert.deepEqual(orderOfFeatures(featureLayer), [1, 0]);
});
