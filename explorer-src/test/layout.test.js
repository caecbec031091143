import assert from "node:assert/strict";
import { test } from "node:test";
import { fullHeight, mapCells, mapTopics } from "../src/map/layout.js";
import { layout, openToFit } from "../src/tree/layout.js";
import { model, wide } from "./payload.js";

const always = () => true;

test("a parent stands on the row of its first child", () => {
  const made = model();
  const found = layout(made, new Set([9]));
  assert.deepEqual(found.order, [10, 9, 7, 6]);
  assert.equal(found.first[9], found.first[7]);
  assert.equal(found.nRows, 3);
  assert.ok(Number.isNaN(found.first[8]));
});

test("the tree opens by whole levels as long as they fit, and never to the words", () => {
  const made = wide(6, 3);
  assert.equal(openToFit(made, 20, always).size, 6);
  const open = openToFit(made, 1000, always);
  assert.ok([...open].every((node) => made.level[node] > 1));
});

test("where not all fit, the first are opened and the window is not overfull", () => {
  const made = wide(10, 4);
  const open = openToFit(made, 17, always);
  assert.deepEqual([...open], made.roots.slice(0, 2));
  assert.ok(layout(made, open).nRows <= 17);
});

test("nothing is opened that is too wide, unless there would be nothing to see", () => {
  const never = () => false;
  assert.equal(openToFit(wide(6, 3), 30, never).size, 0);
  assert.equal(openToFit(wide(1, 8), 30, never).size, 1);
});

test("more roots than rows stay closed", () => {
  assert.equal(openToFit(wide(60, 3), 24, always).size, 0);
});

/** Whether two cells overlap. */
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

for (const [width, height] of [[760, 620], [362, 300]]) {
  test(`cells of a ${width} × ${height} map do not overlap, lie inside, and have room for a word`, () => {
    const made = wide(30, 4, { share: (u) => [0.9, 0.5, 0.02, 0.001, 0.2][u % 5] });
    const cells = mapCells(made, width, height);
    assert.ok(cells.length >= 4);
    cells.forEach((cell, k) => {
      assert.ok(cell.x >= 0 && cell.y >= 0 && cell.x + cell.width <= width && cell.y + cell.height <= height);
      assert.ok(cell.width >= 40 && cell.height >= 34, `${cell.width} × ${cell.height}`);
      cells.slice(k + 1).forEach((other) => assert.ok(!overlap(cell, other)));
      cell.inner.forEach((part, i) => {
        assert.ok(part.x >= cell.x && part.y >= cell.y && part.x + part.width <= cell.x + cell.width);
        assert.ok(part.y + part.height <= cell.y + cell.height);
        cell.inner.slice(i + 1).forEach((other) => assert.ok(!overlap(part, other)));
      });
    });
  });
}

test("topics without room are counted in the last cell", () => {
  const made = wide(300, 1);
  const cells = mapCells(made, 362, 300);
  const last = cells.at(-1);
  assert.equal(last.node, null);
  assert.equal(last.more + cells.length - 1, 300);
});

test("a single root is no map: its subtopics are shown", () => {
  const made = wide(1, 7);
  assert.deepEqual(mapTopics(made), made.children[made.roots[0]]);
  assert.deepEqual(mapCells(made, 0, 300), []);
});

test("the largest topics are on the map, whatever the order of the tree", () => {
  const made = wide(60, 1, { share: (u) => (u % 60) / 100 });
  made.sort("name");
  const shown = mapCells(made, 362, 300).map((cell) => cell.node);
  const largest = [...made.roots].sort((a, b) => made.share(b) - made.share(a));
  assert.deepEqual(shown.slice(0, 3), largest.slice(0, 3));
});

test("a high enough map has room for all topics", () => {
  const made = wide(60, 2);
  const cells = mapCells(made, 362, fullHeight(made, 362));
  assert.deepEqual(new Set(cells.map((cell) => cell.node)), new Set(made.roots));
});
