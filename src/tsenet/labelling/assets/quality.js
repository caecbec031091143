// How good the model is: an estimate with its interval, the learning curve, what more labels would bring.
import { byId, classOf, count, h, percent, s } from "./dom.js";

const W = 240;
const H = 96;
const LEFT = 30;
const BOTTOM = 18;

function curve(points) {
  const most = Math.max(...points.map((one) => one[0]));
  const least = Math.min(...points.map((one) => one[2]));
  const low = Math.max(0, Math.floor(least * 5) / 5);
  const x = (n) => LEFT + ((W - LEFT - 6) * n) / most;
  const y = (share) => 6 + (H - 6 - BOTTOM) * (1 - (share - low) / (1 - low));
  const line = points.map(([n, share]) => `${x(n)},${y(share)}`).join(" ");
  const band = [
    ...points.map(([n, , , high]) => `${x(n)},${y(high)}`),
    ...points.toReversed().map(([n, , lower]) => `${x(n)},${y(lower)}`),
  ].join(" ");
  const last = points.at(-1);
  return s(
    "svg",
    {
      class: "curve",
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": `Accuracy against labels: ${points.map(([n, share]) => `${percent(share)} with ${n}`).join(", ")}`,
    },
    s("line", { class: "axis", x1: LEFT, y1: H - BOTTOM, x2: W - 6, y2: H - BOTTOM }),
    s("text", { x: LEFT - 4, y: y(1) + 4, "text-anchor": "end" }, "100"),
    s("text", { x: LEFT - 4, y: y(low) + 4, "text-anchor": "end" }, String(Math.round(100 * low))),
    s("text", { x: W - 6, y: H - 4, "text-anchor": "end" }, `${count(most)} labels`),
    s("polygon", { class: "band", points: band }),
    s("polyline", { class: "line", points: line }),
    s("circle", { class: "end", cx: x(last[0]), cy: y(last[1]), r: 3 }),
  );
}

export function drawQuality(state) {
  const { estimate } = state;
  const parts = [h("h2", {}, "How good is the model?")];
  if (estimate.accuracy === undefined) {
    const left = Math.max(0, estimate.least - estimate.random);
    parts.push(
      h(
        "p",
        { class: "quiet" },
        left
          ? `Every fourth proposal is a text drawn at random. Once ${estimate.least} of these are labelled, the accuracy is estimated from them: ${left} to go.`
          : "The accuracy is being estimated from the texts that were drawn at random.",
      ),
    );
  } else {
    const { accuracy, low, high, n, labels, gain, gain_error: error } = estimate;
    const points = 100 * gain;
    parts.push(
      h(
        "p",
        { class: "figure" },
        h("strong", { id: "accuracy" }, percent(accuracy)),
        h("span", { class: "quiet" }, ` right; between ${percent(low)} and ${percent(high)}`),
      ),
      h(
        "p",
        { class: "quiet" },
        `From ${count(n)} random texts, by models that had not seen their labels (95 % interval), with ${count(labels)} labels.`,
      ),
    );
    if (estimate.curve.length > 1) parts.push(curve(estimate.curve));
    parts.push(
      h(
        "p",
        { id: "gain" },
        `50 more labels would bring about ${points.toFixed(1)} points`,
        h("span", { class: "quiet" }, ` (± ${(196 * error).toFixed(1)}${gain < 1.96 * error ? "; more random texts will tell" : ""})`),
      ),
    );
    const rows = Object.entries(estimate.per_class);
    if (rows.length) {
      parts.push(
        h(
          "details",
          {},
          h("summary", {}, "Per class"),
          h(
            "table",
            {},
            h("thead", {}, h("tr", {}, ["class", "right", "of", "predicted"].map((name) => h("th", { scope: "col" }, name)))),
            h(
              "tbody",
              {},
              rows.map(([id, [right, of]]) => {
                const one = classOf(state, id);
                return h(
                  "tr",
                  {},
                  h("th", { scope: "row" }, h("bdi", {}, one.name)),
                  h("td", {}, count(right)),
                  h("td", {}, count(of)),
                  h("td", {}, one.predicted === null || one.predicted === undefined ? "–" : count(one.predicted)),
                );
              }),
            ),
          ),
        ),
      );
    }
  }
  const box = byId("quality");
  const wasOpen = box.querySelector("details")?.open;
  box.replaceChildren(...parts);
  const details = box.querySelector("details");
  if (details && wasOpen) details.open = true;
}
