import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddress, viewsOf } from "../src/router.js";
import { classes, model } from "./payload.js";

const made = model({ classes });
const read = (hash) => readAddress(made, hash);

test("no address opens the tree", () => {
  assert.deepEqual(read(""), { view: "tree", node: null, cls: null, colour: null, missing: null });
});

test("an address names a unit, a word, a class or a view", () => {
  assert.equal(read("#unit=Z1.1").node, 7);
  assert.equal(read("#word=%3Cb%3E").node, 5);
  assert.equal(read("#node=3").node, 3);
  assert.equal(read("#view=classes&class=farming+%26+more").cls, 1);
  assert.equal(read("#unit=Z1.0&colour=energy").colour, 0);
  for (const hash of ["#unit=Z1.1", "#view=data"]) assert.equal(read(hash).missing, null);
});

test("what is not there is said", () => {
  assert.equal(read("#unit=nobody").missing, "This report has no topic “nobody”.");
  assert.equal(read("#word=<i>").missing, "This report has no word “<i>”.");
  assert.equal(read("#node=99").missing, "This report has no node “99”.");
  assert.equal(read("#node=x").missing, "This report has no node “x”.");
  assert.equal(read("#view=classes&class=x").missing, "This report has no class “x”.");
  assert.equal(read("#view=nowhere").missing, "This report has no view “nowhere”.");
  assert.equal(read("#foo=1").missing, "This report has nothing called “foo”.");
  assert.equal(read("#unit=nobody").view, "tree");
});

test("a report has the views that it has data for", () => {
  assert.deepEqual(viewsOf(model().payload), ["tree", "list", "data"]);
  assert.deepEqual(viewsOf(made.payload), ["tree", "list", "classes", "data"]);
  assert.match(readAddress(model(), "#view=classes").missing, /no view “classes”/);
});
