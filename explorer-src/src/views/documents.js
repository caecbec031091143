// The map of documents: a point for each, near its topics. Wheel and drag zoom; a point under the pointer tells its text.
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { h, name, s } from "../dom.js";
import { capital, count } from "../format.js";
import { pairs } from "../model.js";
import { SIZE, circles, points } from "../documents/layout.js";

const NEAR = 14; // screen pixels from the pointer within which a document is told
const POINT = 3; // radius of a point on the screen

export function documentsView(model, router) {
  const { documents, nouns, nRows } = model.payload;
  const places = circles(model);
  const found = points(documents, places);
  const tells = h("div", { class: "told", role: "status" });
  const say = (point) => tells.replaceChildren(...(point ? told(model, router, point) : hint(nouns)));

  const layer = s("g", {});
  const dots = found.map((point) =>
    s("circle", { cx: point.x, cy: point.y, r: POINT, class: "dot", vars: { "--own": `var(--hue-${model.hues[point.main]})` } }),
  );
  const areas = [...places].map(([node, { x, y, r, depth }]) =>
    s("circle", { cx: x, cy: y, r, class: `area depth-${Math.min(depth, 2)}`, vars: { "--own": `var(--hue-${model.hues[node]})` } }),
  );
  const tops = [...places].filter(([, place]) => place.depth === 1);
  const labels = tops.map(([node, place]) => label(model, node, place));
  layer.append(...areas, ...dots, ...labels);
  const frame = s("svg", { class: "documents-map", viewBox: `0 0 ${SIZE} ${SIZE}`, tabindex: "0", role: "img" }, layer);
  frame.setAttribute("aria-label", `${count(found.length)} ${nouns.row[1]} near their ${nouns.unit[1]}`);

  let marked = null;
  const mark = (point) => {
    if (marked) dots[marked.index].classList.remove("marked");
    if (point) dots[point.index].classList.add("marked");
    if (marked !== point) say(point);
    marked = point;
  };
  let k = 1;
  const camera = zoom()
    .scaleExtent([1, 30])
    .translateExtent([[0, 0], [SIZE, SIZE]])
    .on("zoom", ({ transform }) => {
      ({ k } = transform);
      layer.setAttribute("transform", transform);
      // points and labels keep their size, as on a map
      for (const dot of dots) dot.setAttribute("r", POINT / k);
      for (const text of labels) text.style.setProperty("font-size", `${15 / k}px`);
    });
  const selection = select(frame).call(camera).on("dblclick.zoom", null);
  frame.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(layer.getScreenCTM().inverse());
    mark(nearest(found, at, NEAR / (k * (frame.clientWidth / SIZE || 1))));
  });
  frame.addEventListener("click", () => marked && router.go(router.hrefNode(marked.main)));
  frame.addEventListener("keydown", (event) => {
    const factor = { "+": 1.4, "-": 1 / 1.4 }[event.key];
    if (factor) camera.scaleBy(selection, factor);
    else if (event.key === "0") camera.transform(selection, zoomIdentity);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const step = event.key === "ArrowRight" ? 1 : -1;
      mark(found[((marked?.index ?? -step) + step + found.length) % found.length]);
    } else if (event.key === "Enter" && marked) router.go(router.hrefNode(marked.main));
    else return;
    event.preventDefault();
  });
  say(null);

  const some = found.length < nRows ? `${count(found.length)} of ${count(nRows)} ${nouns.row[1]}` : `All ${count(found.length)} ${nouns.row[1]} with a ${nouns.unit[0]}`;
  return h(
    "div",
    { class: "page documents" },
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow" }, capital(nouns.row[1])),
      h("h1", { text: `${capital(nouns.row[1])} and their ${nouns.unit[1]}` }),
      h("p", {
        class: "lead",
        text: `${some}. Each lies in the circle of its main ${nouns.unit[0]}, drawn towards the others that it has; circles are as large as their ${nouns.unit[1]}.`,
      }),
    ),
    tells,
    frame,
  );
}

/** The nearest point within a distance, or null. */
export function nearest(found, at, distance) {
  let [best, least] = [null, distance * distance];
  for (const point of found) {
    const away = (point.x - at.x) ** 2 + (point.y - at.y) ** 2;
    if (away < least) [best, least] = [point, away];
  }
  return best;
}

function label(model, node, { x, y, r }) {
  const text = s("text", { x, y: y - r + 18, class: "place", "text-anchor": "middle", "paint-order": "stroke" });
  text.textContent = model.label(node);
  return text;
}

function hint(nouns) {
  return [h("p", { class: "note", text: `Point at a ${nouns.row[0]} to read it, click to see its ${nouns.unit[0]}. Wheel, drag, + and − zoom, 0 shows all, ← and → go from one to the next.` })];
}

function told(model, router, point) {
  const { documents, nouns } = model.payload;
  const text = documents.texts?.[point.index] ?? `${capital(nouns.row[0])} ${count(documents.rows[point.index])}`;
  const topics = pairs(documents.of[point.index]).map(([node, strength]) =>
    h("a", { href: router.hrefNode(node), vars: { "--own": `var(--hue-${model.hues[node]})` } }, name(model.label(node)), h("span", { class: "share", text: strength.toFixed(2) })),
  );
  return [h("p", { class: "quote" }, name(text)), h("p", { class: "of" }, topics)];
}
