// Tables as files: comma-separated, as spreadsheets open them.
import { h } from "./dom.js";

/** Lines of cells as CSV. A cell that a spreadsheet would read as a formula is kept as text. */
export function csv(lines) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** All units, a line for each: id, level, parent, label, share, coherence, words. */
export function unitLines(model) {
  const { nouns } = model;
  const heads = [nouns.unit[0], "level", "parent", "label", "share", "coherence", nouns.input[1]];
  const line = (unit) => [
    model.names[unit],
    model.level[unit],
    model.parent[unit] < 0 ? null : model.names[model.parent[unit]],
    model.label(unit),
    model.hasShares ? model.share(unit) : null,
    model.coherence(unit),
    model.features(unit).map(([node]) => model.names[node]).join(" "),
  ];
  return [heads, ...model.unitsOfLevel(null).map(line)];
}

/** Share of the rows of each bin with each topic: a line for each bin, a column for each topic. */
export function alongLines(model) {
  const { along, nouns } = model.payload;
  const units = model.unitsOfLevel(null);
  const heads = [along.name, nouns.row[1], ...units.map((unit) => model.label(unit))];
  return [heads, ...along.bins.map((bin, k) => [bin, along.counts[k], ...units.map((unit) => along.of[unit - model.nInputs][k] / 10000)])];
}

/** A link that saves lines as a file. The file is made when it is asked for. */
export function downloadLink(text, file, lines) {
  return h("button", {
    type: "button",
    class: "button",
    text,
    onclick: () => {
      const url = URL.createObjectURL(new Blob(["\ufeff", csv(lines())], { type: "text/csv;charset=utf-8" }));
      h("a", { href: url, download: file }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    },
  });
}
