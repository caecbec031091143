import assert from "node:assert/strict";
import { test } from "node:test";
import { SIZE, circles, points } from "../src/documents/layout.js";
import { viewsOf } from "../src/router.js";
import { nearest } from "../src/views/documents.js";
import { model, payload, wide } from "./payload.js";

const away = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

test("subtopics lie inside the circles of their topics, and siblings apart", () => {
  const made = wide(5, 3);
  const places = circles(made);
  assert.equal(places.size, 20);
  for (const [node, place] of places) {
    assert.ok(place.x - place.r >= -1e-6 && place.x + place.r <= SIZE + 1e-6);
    const above = places.get(made.parent[node]);
    if (above) assert.ok(away(place, above) + place.r <= above.r + 1e-6);
    for (const [other, second] of places) {
      if (other === node || made.parent[other] !== made.parent[node]) continue;
      assert.ok(away(place, second) >= place.r + second.r - 1e-6);
    }
  }
});

test("a document of one topic lies in its circle, one of two is drawn to the other", () => {
  const made = model();
  const places = circles(made);
  const of = [[6, 0.9], [6, 0.9, 7, 0.6], [6, 0.9], [7, 0.8]];
  const found = points({ of }, places);
  assert.deepEqual(found.map(({ main, index }) => [main, index]), [[6, 0], [6, 1], [6, 2], [7, 3]]);
  for (const point of [found[0], found[2], found[3]]) assert.ok(away(point, places.get(point.main)) < places.get(point.main).r);
  const alone = points({ of: [of[0], [6, 0.9], of[2], of[3]] }, places)[1];
  assert.ok(away(found[1], places.get(7)) < away(alone, places.get(7)));
  assert.ok(away(found[0], found[2]) > 1); // no two at one place
});

test("the nearest document is found within reach only", () => {
  const found = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.equal(nearest(found, { x: 7, y: 0 }, 5), found[1]);
  assert.equal(nearest(found, { x: 5, y: 9 }, 5), null);
});

test("only reports with documents have the view", () => {
  assert.ok(!viewsOf(payload()).includes("documents"));
  assert.ok(viewsOf(payload({ documents: { rows: [], of: [], texts: null } })).includes("documents"));
});
