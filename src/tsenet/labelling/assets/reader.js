// The current text in full, why the model predicts what it does, and a note.
import { byId, chip, classOf, h, percent, toast } from "./dom.js";
import { get } from "./api.js";

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu;

/** The text as nodes, in which words that speak for or against are marked. */
function marked(text, words) {
  const adds = new Map(words.map((one) => [one.word.toLowerCase(), one.adds]));
  if (!adds.size) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    const added = adds.get(match[0].toLowerCase());
    if (added === undefined) continue;
    nodes.push(text.slice(end, match.index));
    nodes.push(h("mark", { class: added > 0 ? "for" : "against" }, match[0]));
    end = match.index + match[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

function bars(items, label) {
  const most = Math.max(...items.map((one) => Math.abs(one.adds)), 1e-9);
  return h(
    "ul",
    { class: "bars", "aria-label": label },
    items.map((one) => {
      const bar = h("span", { class: `bar-fill ${one.adds > 0 ? "for" : "against"}`, "aria-hidden": "true" });
      bar.style.width = `${(100 * Math.abs(one.adds)) / most}%`;
      return h(
        "li",
        {},
        h("bdi", { class: "bar-name" }, one.name),
        h("span", { class: "bar-track" }, bar),
        h("span", { class: "bar-value" }, `${one.adds > 0 ? "+" : "−"}${Math.abs(one.adds).toFixed(2)}`),
      );
    }),
  );
}

/** The pane; `openTopic` is called with the number of a topic, `saveNote` with a document and its note. */
export function makeReader({ state, openTopic, saveNote }) {
  const pane = byId("reader");
  let shown = null; // the document as the server gave it
  let reasons = null;
  let asked = 0;

  function draw() {
    if (!shown) {
      pane.replaceChildren(h("p", { class: "quiet" }, "No text is chosen."));
      return;
    }
    const { classes, who, predicted, chances, skipped } = shown;
    const says = [];
    if (classes.length) says.push(...classes.map((id) => chip(classOf(state(), id), who)));
    else if (skipped) says.push(h("span", { class: "chip plain" }, "skipped"));
    const model = chances.slice(0, 2).map(([id, share]) => chip(classOf(state(), id), "model", percent(share)));
    const head = h(
      "div",
      { class: "says" },
      says,
      predicted.length ? h("span", { class: "quiet" }, "model:") : null,
      predicted.length ? model : null,
      predicted.length
        ? h(
            "button",
            { type: "button", class: "link", id: "why", "aria-expanded": String(reasons !== null), onclick: why },
            reasons ? "Hide reasons" : "Why?",
          )
        : null,
    );
    const note = h("input", {
      id: "note",
      type: "text",
      maxlength: 2000,
      placeholder: "Note (n)",
      "aria-label": "Note on this text",
    });
    note.value = shown.note;
    note.addEventListener("change", () => saveNote(shown.document, note.value));
    note.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") {
        if (event.key === "Escape") note.value = shown.note;
        note.blur();
        byId("list").focus({ preventScroll: true });
        event.stopPropagation();
      }
    });
    const topics = shown.topics.map((one) =>
      h("button", { type: "button", class: "link topic", onclick: () => openTopic(one.topic) }, one.title),
    );
    pane.replaceChildren(
      h(
        "p",
        { class: "full", dir: "auto", tabindex: "0", "aria-label": "Text" },
        marked(shown.text, reasons?.words ?? []),
        shown.cut ? "… (the text is longer)" : "",
      ),
      head,
      reasons ? explain() : "",
      h("div", { class: "foot" }, topics.length ? h("span", { class: "quiet" }, "topic:") : null, topics, note),
    );
  }

  function explain() {
    const against = reasons.against ? ` rather than ${classOf(state(), reasons.against).name}` : "";
    const title = `Why ${classOf(state(), reasons.for).name}${against}`;
    return h(
      "section",
      { class: "why", "aria-label": title },
      h("h3", {}, h("bdi", {}, title)),
      reasons.words.length
        ? bars(
            reasons.words.map((one) => ({ name: one.word, adds: one.adds })),
            "Words, and what each adds",
          )
        : h("p", { class: "quiet" }, "No word of this text is known to the model."),
      reasons.groups.length ? h("h4", {}, "by groups of words") : "",
      reasons.groups.length
        ? bars(
            reasons.groups.map((one) => ({ name: one.words.join(", "), adds: one.adds })),
            "Groups of words, and what each adds",
          )
        : "",
    );
  }

  async function why() {
    if (!shown) return;
    if (reasons) {
      reasons = null;
      draw();
      return;
    }
    const own = shown.document;
    const button = byId("why");
    if (button) button.textContent = "Looking for reasons…"; // the first time takes some seconds
    try {
      const found = await get("why", { document: own });
      if (shown?.document !== own) return;
      reasons = found;
      draw();
      byId("why")?.focus({ preventScroll: true });
      pane.querySelector(".why")?.scrollIntoView({ block: "nearest" }); // below a long text
    } catch (error) {
      draw();
      toast(error.message, true);
    }
  }

  return {
    /** Show a document of the list; its whole text comes a moment later. */
    async show(item) {
      asked += 1;
      const own = asked;
      if (!item) {
        shown = null;
        reasons = null;
        draw();
        return;
      }
      const same = shown?.document === item.document;
      if (!same) {
        reasons = null;
        shown = { ...item, chances: [], topics: [] };
        draw();
        pane.scrollTop = 0;
      }
      try {
        const found = await get("read", { document: item.document });
        const editing = document.activeElement?.id === "note" && pane.contains(document.activeElement);
        if (own === asked && !editing) {
          shown = found;
          draw();
        }
      } catch (error) {
        toast(error.message, true);
      }
    },
    why,
    note() {
      byId("note")?.focus();
    },
  };
}
