// The network in figures, beside a dense one of the same layers.
import { h } from "../dom.js";
import { bytes, compact, count, percent } from "../format.js";

export function networkView(network) {
  const cards = [
    ["Parameters", network.parameters, network.denseParameters, compact, "trained numbers"],
    ["Size", network.bytes, network.denseBytes, bytes, "as 32-bit floats"],
    ["Work", network.flops, network.denseFlops, compact, "FLOPs for a row without zeros"],
  ];
  const most = Math.max(...network.layers.map((layer) => layer.dense));
  return h(
    "div",
    { class: "page network" },
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow", text: "Network" }),
      h("h1", { text: `${percent(network.parameters / network.denseParameters)} of a dense network’s parameters` }),
      h("p", { class: "lead", text: "Beside a network with the same layers in which every unit is linked to every unit of the layer below." }),
    ),
    h("div", { class: "stats" }, cards.map(([title, ours, dense, format, unit]) => stat(title, ours, dense, format, unit))),
    h("h2", { text: "Layer by layer" }),
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ["Layer", "Units", "Links", "Of dense", ""].map((text, k) => h("th", { scope: "col", class: k && k < 4 ? "num" : null, text })))),
        h("tbody", {}, network.layers.map((layer) => row(layer, most))),
      ),
    ),
    h("p", { class: "note", text: "“level” layers have the links of the tree and the added ones; “skip” units are skip paths from a layer to the feature layer, “top” units read the top level; “linear skip” links lead from the inputs straight to the outputs." }),
  );
}

function stat(title, ours, dense, format, unit) {
  const share = ours / dense;
  return h(
    "section",
    { class: "stat" },
    h("h2", { text: title }),
    h("p", { class: "big", text: format(ours) }),
    h("p", { class: "note", text: unit }),
    h(
      "div",
      { class: "versus" },
      h("span", { class: "versus-bar ours", vars: { "--share": share } }),
      h("span", { class: "versus-text", text: "this network" }),
      h("span", { class: "versus-bar dense", vars: { "--share": 1 } }),
      h("span", { class: "versus-text", text: `dense: ${format(dense)}` }),
    ),
  );
}

function row(layer, most) {
  // Lengths by square root: layers differ a thousandfold, and each should still be seen.
  const length = (links) => Math.sqrt(links / most);
  return h(
    "tr",
    {},
    h("th", { scope: "row", text: layer.name }),
    h("td", { class: "num", text: count(layer.units) }),
    h("td", { class: "num", text: count(layer.links) }),
    h("td", { class: "num", text: percent(layer.links / layer.dense) }),
    h(
      "td",
      { class: "layer-bar", "aria-hidden": "true" },
      h("span", { class: "dense", vars: { "--share": length(layer.dense) } }, h("span", { class: "ours", vars: { "--share": length(layer.links) / length(layer.dense) } })),
    ),
  );
}
