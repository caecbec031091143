// How training went: curves, and the same numbers as a table.
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import { h, s } from "../dom.js";
import { count, number } from "../format.js";

const ENDED = {
  early_stopping: "Stopped early: the validation score no longer improved.",
  max_epochs: "Ended at the given number of epochs.",
  interrupted: "Stopped by the user.",
  callback: "Stopped by a callback.",
  diverged: "Stopped: the loss was no longer a finite number.",
  "few labels": "Too few labels to train on: the first weights were kept.",
};

export function trainingView(training) {
  const n = training.trainLoss.length;
  const best = training.best;
  const seconds = training.seconds.reduce((a, b) => a + (b ?? 0), 0);
  const charts = [
    chart("Loss", [["training", training.trainLoss, "train"], ["validation", training.validationLoss, "validation"]], best),
  ];
  // The score is often minus the loss: a second picture of the same curve tells nothing.
  const differs = training.validationScore.some((value, k) => Math.abs((value ?? 0) + (training.validationLoss[k] ?? 0)) > 1e-4 * Math.abs(value ?? 1));
  if (differs) charts.push(chart("Validation score", [["score", training.validationScore, "validation"]], best));
  const rates = new Set(training.learningRate);
  if (rates.size > 1) charts.push(chart("Learning rate", [["rate", training.learningRate, "train"]], null));
  return h(
    "div",
    { class: "page training" },
    h(
      "header",
      { class: "page-head" },
      h("p", { class: "eyebrow", text: "Training" }),
      // A loaded model has no times.
      h("h1", { text: `${count(n)} ${n === 1 ? "epoch" : "epochs"}${seconds ? ` in ${duration(seconds)}` : ""}` }),
      h("p", {
        class: "lead",
        text: [ENDED[training.stopped] ?? "", best === null ? "" : `Best in epoch ${best + 1}; its weights were kept.`].join(" ").trim(),
      }),
    ),
    h("div", { class: "charts" }, charts),
    h("details", {}, h("summary", { text: "The numbers" }), h("div", { class: "scroll" }, table(training))),
  );
}

function duration(seconds) {
  if (seconds < 90) return `${number(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Ticks that are far enough apart to be read, by their places. */
export function apart(ticks, place, least) {
  const kept = [];
  for (const tick of ticks) {
    if (!kept.length || Math.abs(place(tick) - place(kept.at(-1))) >= least) kept.push(tick);
  }
  return kept;
}

/** Small numbers as powers of ten. */
export function tickText(value) {
  if (value === 0 || Math.abs(value) >= 0.001) return number(value);
  const [digits, power] = value.toExponential(0).split("e-");
  const raised = [...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return `${digits === "1" ? "" : `${digits}·`}10⁻${raised}`;
}

function chart(title, given, best) {
  const series = given.filter(([, values]) => values.some((value) => value !== null));
  const width = innerWidth < 720 ? 340 : 640; // text keeps its size on a phone
  const [height, left, right, top, bottom] = [300, 54, 18, 26, 44];
  const values = series.flatMap(([, all]) => all.filter((value) => value !== null));
  const n = Math.max(1, ...series.map(([, all]) => all.length));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const steep = low > 0 && high / low > 30;
  const y = (steep ? scaleLog() : scaleLinear()).domain(low === high ? [low - 1, high + 1] : [low, high]).nice().range([height - bottom, top]);
  const x = scaleLinear([1, Math.max(2, n)], [left, width - right]);
  const draw = line().defined(([, value]) => value !== null).x(([k]) => x(k + 1)).y(([, value]) => y(value));
  const ticksX = apart(x.ticks(Math.min(n, width / 80)).filter(Number.isInteger), x, 30);
  const tens = (tick) => Math.abs(Math.log10(tick) % 1) < 1e-9;
  const ticksY = apart(steep && high / low > 100 ? y.ticks().filter(tens) : y.ticks(5), y, 22);
  const summary = series.map(([label, all]) => `${label} from ${number(all[0])} to ${number(all.at(-1))}`).join(", ");
  const picture = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title} by epoch: ${summary}` },
    ticksY.map((tick) =>
      s(
        "g",
        { class: "tick" },
        s("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
        s("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end", text: tickText(tick) }),
      ),
    ),
    ticksX.map((tick) => s("text", { class: "tick-x", x: x(tick), y: height - bottom + 20, "text-anchor": "middle", text: tick })),
    best === null ? null : bestLine(x(best + 1), top, height - bottom, [left, width - right]),
    series.map(([label, all, kind]) =>
      s(
        "g",
        { class: `series ${kind}` },
        s("path", { d: draw(all.map((value, i) => [i, value])) }),
        all.length <= 60 ? all.map((value, i) => (value === null ? null : s("circle", { cx: x(i + 1), cy: y(value), r: 3 }, s("title", { text: `epoch ${i + 1}, ${label}: ${number(value)}` })))) : null,
      ),
    ),
    s("text", { class: "axis", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", text: "epoch" }),
  );
  return h("figure", { class: "chart" }, h("figcaption", {}, h("h2", { text: title }), series.length > 1 ? legend(series) : null), picture);
}

/** A line at the best epoch; its label stands above the curves, inside the picture. */
function bestLine(at, top, bottom, [left, right]) {
  const anchor = at > right - 20 ? "end" : at < left + 20 ? "start" : "middle";
  return s("g", { class: "best" }, s("line", { x1: at, x2: at, y1: top - 8, y2: bottom }), s("text", { x: at, y: top - 13, "text-anchor": anchor, text: "best" }));
}

/** The series by name, above the picture: there they cover nothing. */
function legend(series) {
  return h(
    "ul",
    { class: "chart-legend" },
    series.map(([label, , kind]) =>
      h(
        "li",
        {},
        s("svg", { class: `series ${kind}`, width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" }, s("path", { d: "M1 5h24" })),
        label,
      ),
    ),
  );
}

function table(training) {
  const columns = [
    ["Training loss", training.trainLoss],
    ["Validation loss", training.validationLoss],
    ["Score", training.validationScore],
    ["Learning rate", training.learningRate],
    ...(training.seconds.length ? [["Seconds", training.seconds]] : []),
  ].filter(([, values]) => values.length);
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col", text: "Epoch" }), columns.map(([text]) => h("th", { scope: "col", class: "num", text })))),
    h(
      "tbody",
      {},
      training.trainLoss.map((_, k) =>
        h(
          "tr",
          { class: k === training.best ? "chosen" : null },
          h("th", { scope: "row", text: k + 1 }),
          columns.map(([, values]) => h("td", { class: "num", text: number(values[k]) })),
        ),
      ),
    ),
  );
}
