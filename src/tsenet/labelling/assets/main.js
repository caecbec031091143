// The page: what is shown, which keys do what, and how labels reach the server.
import { act, get, post } from "./api.js";
import { makeClasses } from "./classes.js";
import { byId, count, countOf, h, themeButton, toast } from "./dom.js";
import { fetchView, makeList } from "./list.js";
import { drawQuality } from "./quality.js";
import { makeReader } from "./reader.js";
import { makeTopics } from "./topics.js";

let state = null;
let fitted = null; // revision of the model that is shown
const wanted = { query: "", sort: "proposed", show: "all" };

const now = () => state;

const list = makeList({ moved: (item) => reader.show(item), selectionChanged: drawFound, state: now });
const reader = makeReader({ state: now, openTopic: (topic) => topics.choose(topic), saveNote });
const topics = makeTopics({
  state: now,
  opened: (topic) => {
    if (topic !== null && wanted.sort === "proposed") setSort("typical");
    if (topic === null) setSort("proposed");
    showTab("texts");
    openView();
  },
  labelTopic,
});
const classes = makeClasses({ state: now, label, change });

// ---- what is shown

function drawState() {
  const { learner } = state;
  document.title = `${state.name} · labels · tsenet`;
  byId("name").textContent = state.name;
  const parts = [`${count(state.labelled)} of ${countOf(state.documents, "text")} labelled`];
  if (state.by_topic) parts.push(`${count(state.by_topic)} by topic`);
  if (state.skipped) parts.push(`${count(state.skipped)} skipped`);
  if (state.elsewhere) parts.push(`${count(state.elsewhere)} labels of texts that the file no longer has`);
  byId("counts").textContent = parts.join(" · ");
  byId("learner").textContent = learnerSays(learner);
  byId("learner").classList.toggle("error", Boolean(learner.failure));
  byId("save").disabled = learner.fitted === null || Boolean(state.export.stage);
  classes.draw();
  drawShow();
  drawQuality(state);
}

function learnerSays(learner) {
  if (learner.failure) return learner.failure;
  if (learner.stage === "topics") return "Learning topics…";
  if (learner.stage === "structure") return "Learning how words go together…";
  if (learner.fitted === null) return "Label texts of two classes: then a model learns beside you.";
  return `Model of ${countOf(learner.labels, "label")}, fitted in ${learner.seconds} s`;
}

function drawShow() {
  const select = byId("show");
  const options = [
    ["all", "All texts"],
    ["open", "Not labelled yet"],
    ["labelled", "Labelled"],
    ["topic", "Labelled by topic"],
    ["skipped", "Skipped"],
    ["noted", "With a note"],
    ...state.classes.map((one) => [`class:${one.id}`, `Labelled ${one.name}`]),
    ...(state.learner.fitted === null
      ? []
      : state.classes.filter((one) => one.predicted).map((one) => [`predicted:${one.id}`, `Predicted ${one.name}`])),
  ];
  const text = JSON.stringify(options);
  if (select.dataset.options === text) return;
  select.dataset.options = text;
  select.replaceChildren(...options.map(([value, name]) => h("option", { value }, name)));
  select.value = wanted.show;
}

function drawFound() {
  const n = list.nSelected;
  const found = byId("found");
  if (n) found.textContent = `${count(n)} of ${countOf(list.size, "text")} selected: a key labels them all`;
  else if (wanted.sort === "proposed" && topics.chosen === null && !wanted.query) {
    found.textContent = list.ahead ? `${countOf(list.ahead, "text")} proposed to label next` : "Nothing is left to label here.";
  } else found.textContent = list.size ? countOf(list.size, "text") : "No text is like this.";
  byId("all").textContent = n ? "Select none" : "Select all";
  byId("more").hidden = wanted.sort !== "proposed";
}

let viewsAsked = 0;
let renewed = null; // the list with other proposals after the text that is read

function fields() {
  const { query, sort, show } = wanted;
  return topics.chosen === null ? { query, sort, show } : { query, sort, show, topic: topics.chosen };
}

/** Open the list that is wanted; of several that were asked for, the last. */
async function openView() {
  renewed = null;
  viewsAsked += 1;
  const own = viewsAsked;
  list.busy = true;
  try {
    const found = await fetchView(fields());
    if (own === viewsAsked) list.open(found);
  } catch (error) {
    if (own === viewsAsked) toast(error.message, true);
  } finally {
    if (own === viewsAsked) list.busy = false;
  }
}

/**
 * Have what follows the text that is read proposed anew, after a new model. It is shown when that text is labelled, so
 * that nothing changes under the eyes of who reads or selects.
 */
async function renew() {
  renewed = null;
  if (wanted.sort !== "proposed" || list.busy || !list.size) return;
  const own = viewsAsked;
  const { view, place } = list;
  try {
    const found = await fetchView({ ...fields(), after: view, read: place + 1 });
    if (own === viewsAsked && view === list.view) renewed = { ...found, of: view, after: place };
  } catch {
    // The list goes on as it is.
  }
}

function showRenewed() {
  if (renewed === null || list.nSelected || renewed.of !== list.view) return;
  if (renewed.after === list.place) {
    const found = renewed;
    renewed = null;
    list.open(found, found.kept - 1);
  } else renew(); // other texts were read since: next time
}

function setSort(sort) {
  wanted.sort = sort;
  byId("sort").value = sort;
}

// ---- news from the server

async function listen() {
  let version = -1;
  let known = ""; // what the tree was drawn from
  let revision = -1;
  let exported = "";
  for (;;) {
    try {
      const found = await get("state", { version });
      const first = state === null;
      state = found;
      version = found.version;
      document.body.classList.remove("gone");
      drawState();
      drawExport(exported);
      exported = JSON.stringify(found.export);
      const basis = `${found.learner.topics} ${found.learner.fitted} ${found.revision}`;
      if (basis !== known && found.learner.topics) topics.set(await get("topics"));
      known = basis;
      if (first) {
        await openView();
        list.focus();
      } else if (found.learner.fitted !== fitted || found.revision !== revision) {
        list.refresh();
        if (list.current) reader.show(list.current);
      }
      const arrived = found.learner.topics && !document.body.classList.contains("with-topics");
      if (arrived) document.body.classList.add("with-topics");
      if (!first && (arrived || found.learner.fitted !== fitted)) {
        await renew();
        if (arrived && list.place === 0) showRenewed();
      }
      fitted = found.learner.fitted;
      revision = found.revision;
    } catch (error) {
      document.body.classList.add("gone");
      byId("learner").textContent = error.message;
      await new Promise((done) => setTimeout(done, 2000));
    }
  }
}

// ---- what is done

async function send(action, seen) {
  try {
    const done = await act(action, seen);
    return done;
  } catch (error) {
    toast(error.message, true);
    list.refresh();
    if (list.current) reader.show(list.current);
    return null;
  }
}

/** What is selected, and the revision at which it was seen: as it is now, whatever list is shown afterwards. */
async function selection() {
  if (list.everything) return { chosen: { view: list.view }, seen: state.revision };
  const items = await list.selectedItems();
  if (!items.length) {
    toast("These texts are not here yet: try again", true);
    return null;
  }
  return { chosen: { documents: items.map((one) => one.document) }, seen: Math.min(...items.map((one) => one.revision)) };
}

async function labelSelection(id) {
  const many = list.everything && list.nSelected > 20;
  const question = `Label ${countOf(list.nSelected, "text")} as ${classes.nameOf(id)}?`;
  const found = await selection();
  if (!found || (many && !(await confirmed(question)))) return;
  const done = await send({ do: "label", ...found.chosen, classes: [id], how: "selection" }, found.seen);
  if (!done) return;
  toast(`${countOf(done.n, "text")} labelled ${classes.nameOf(id)}`);
  list.clear();
}

/** Label the selection, or the current text and go to the next. */
async function label(id) {
  if (list.nSelected) {
    await labelSelection(id);
    return;
  }
  const several = state.several;
  const item = list.current;
  if (!item) return;
  let ids = [id];
  if (several && id !== "none") {
    const had = item.who === "you" ? item.classes.filter((one) => one !== "none") : [];
    ids = had.includes(id) ? had.filter((one) => one !== id) : [...had, id];
  }
  const sent = send({ do: "label", documents: [item.document], classes: ids, how: item.reason || wanted.sort }, item.revision);
  if (!several) showRenewed();
  list.patch(item.document, { classes: ids, who: ids.length ? "you" : "", skipped: false });
  if (!several) next();
  else reader.show({ ...item });
  const done = await sent;
  if (done) list.patch(item.document, { revision: done.revision });
}

function next() {
  if (list.place + 1 < list.size) list.next();
  else if (wanted.sort === "proposed") openView();
}

async function clearLabel() {
  if (list.everything) return;
  const item = list.current;
  const one = item && { chosen: { documents: [item.document] }, seen: item.revision };
  const found = list.nSelected ? await selection() : one;
  if (found) await send({ do: "label", ...found.chosen, classes: [], how: "cleared" }, found.seen);
}

async function skip() {
  const item = list.current;
  if (!item) return;
  const sent = send({ do: "skip", documents: [item.document] }, item.revision);
  showRenewed();
  list.patch(item.document, { skipped: true });
  next();
  await sent;
}

async function undo() {
  const done = await send({ do: "undo" }, state.revision);
  if (!done) return;
  const what = { label: "The label", topic: "The label of the topic", skip: "The skip", note: "The note" }[done.did] ?? "The change";
  toast(`${what}${done.n > 1 ? ` of ${countOf(done.n, "text")}` : ""} was undone`);
  if (done.n === 1) list.goTo(done.documents[0]);
}

async function labelTopic(topic, id) {
  const done = await send({ do: "topic", topic, class: id }, state.revision);
  if (done) toast(id === null ? "The label of the topic was taken away" : `${countOf(done.n, "text")} labelled ${classes.nameOf(id)} by topic`);
}

/** Label the topic of the current text with the class that its label has. */
function labelTopicOfText() {
  const head = byId("label-topic");
  if (head && !byId("topic-head").hidden) head.click();
  else toast("Open a topic first: then t labels all of it");
}

async function saveNote(documentNumber, note) {
  await send({ do: "note", documents: [documentNumber], note }, state.revision);
}

async function change(action) {
  await send(action, state.revision);
}

// ---- dialogs

function openDialog(title, ...parts) {
  const dialog = byId("dialog");
  dialog.replaceChildren(
    h("h2", { id: "dialog-title" }, title),
    ...parts,
  );
  if (!dialog.open) dialog.showModal();
  return dialog;
}

function confirmed(question) {
  return new Promise((decide) => {
    const answer = (value) => () => {
      byId("dialog").close();
      decide(value);
    };
    openDialog(
      question,
      h(
        "div",
        { class: "line end" },
        h("button", { type: "button", onclick: answer(false) }, "Cancel"),
        h("button", { type: "button", class: "primary", autofocus: true, onclick: answer(true) }, "Label"),
      ),
    );
    byId("dialog").addEventListener("cancel", () => decide(false), { once: true });
  });
}

const close = () => h("div", { class: "line end" }, h("button", { type: "button", autofocus: true, onclick: () => byId("dialog").close() }, "Close"));

const KEYS = [
  ["1 … 9", "label with a class, and go on"],
  ["0", "none of these"],
  ["↓ ↑, j k", "next and previous text"],
  ["Space", "select or not; Shift with ↓ ↑ selects several"],
  ["a", "select all of the list; Escape none"],
  ["s", "skip"],
  ["Backspace", "take the label away"],
  ["u", "undo"],
  ["w", "why this prediction?"],
  ["n", "note"],
  ["t", "label the whole topic that is open"],
  ["p", "new proposals from all texts"],
  ["c", "new class"],
  ["/", "search"],
  ["g", "go to the topics: arrows move, Enter opens"],
];

function showKeys() {
  openDialog(
    "Keys",
    h(
      "dl",
      { class: "keys" },
      KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]),
    ),
    close(),
  );
}

async function save() {
  try {
    await post("export", {});
    openDialog("Saving", h("p", { id: "stage", role: "status" }, "Begun…"), h("p", { class: "quiet" }, "The model is fitted once more, to all rows, by the command that you can repeat. Labelling can go on."), close());
  } catch (error) {
    toast(error.message, true);
  }
}

function drawExport(before) {
  const { stage, done, error } = state.export;
  const dialog = byId("dialog");
  if (stage && byId("stage")) byId("stage").textContent = `${stage}…`;
  if (!before || before === JSON.stringify(state.export)) return;
  if (error) {
    dialog.close();
    toast(error, true);
  }
  if (done) {
    openDialog(
      "Saved",
      h("p", {}, "In ", h("code", {}, done.folder), ":"),
      h("ul", { class: "files", id: "files" }, done.files.map((name) => h("li", {}, h("code", {}, name)))),
      h("p", {}, "The command that fits this model again:"),
      h("pre", { tabindex: "0", id: "command" }, done.command),
      h("p", {}, "In Python:"),
      h("pre", { tabindex: "0", id: "python" }, done.python),
      close(),
    );
  }
}

// ---- input

function showTab(name) {
  document.querySelector("main").dataset.tab = name;
  for (const button of document.querySelectorAll(".tabs button")) {
    if (button.dataset.tab === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

for (const button of document.querySelectorAll(".tabs button")) {
  button.addEventListener("click", () => showTab(button.dataset.tab));
}
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  wanted.query = byId("query").value;
  if (wanted.query && wanted.sort === "proposed") setSort("typical");
  openView();
  list.focus();
});
// Enter submits the form, and is a search event as well; the cross that empties the field is only that.
byId("query").addEventListener("search", () => {
  if (!byId("query").value && wanted.query) byId("search").requestSubmit();
});
byId("query").addEventListener("keydown", (event) => {
  if (event.key === "Escape") list.focus();
});
byId("sort").addEventListener("change", () => {
  wanted.sort = byId("sort").value;
  openView();
});
byId("show").addEventListener("change", () => {
  wanted.show = byId("show").value;
  if (wanted.show !== "all" && wanted.show !== "open" && wanted.sort === "proposed") setSort("typical");
  openView();
});
byId("all").addEventListener("click", () => (list.nSelected ? list.clear() : list.selectAll()));
byId("more").addEventListener("click", propose);
byId("undo").addEventListener("click", undo);
byId("keys").addEventListener("click", showKeys);
byId("save").addEventListener("click", save);
themeButton(byId("theme"));

function propose() {
  byId("query").value = "";
  wanted.query = "";
  wanted.show = "all";
  byId("show").value = "all";
  setSort("proposed");
  if (topics.chosen !== null) topics.choose(null);
  else openView();
  list.focus();
}

const COMMANDS = {
  ArrowDown: (event) => {
    if (state.several && !event.shiftKey) showRenewed(); // a key of a class does not move on
    list.go(list.place + 1, { extend: event.shiftKey });
  },
  ArrowUp: (event) => list.go(list.place - 1, { extend: event.shiftKey }),
  j: () => list.go(list.place + 1),
  k: () => list.go(list.place - 1),
  PageDown: () => list.go(list.place + list.perScreen()),
  PageUp: () => list.go(list.place - list.perScreen()),
  Home: () => list.go(0),
  End: () => list.go(list.size - 1),
  " ": () => list.toggle(),
  Escape: () => list.clear(),
  Backspace: clearLabel,
  Delete: clearLabel,
  a: () => list.selectAll(),
  s: skip,
  u: undo,
  w: () => reader.why(),
  n: () => reader.note(),
  t: labelTopicOfText,
  p: propose,
  c: () => {
    showTab("classes");
    byId("new-class").focus();
  },
  g: () => {
    showTab("topics");
    document.querySelector("#tree [tabindex='0']")?.focus();
  },
  "/": () => byId("query").focus(),
  "?": showKeys,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !state || byId("dialog").open) return;
  const { target } = event;
  if (target.closest("input, select, textarea")) return;
  const onButton = target.closest("button, summary");
  if (onButton && (event.key === " " || event.key === "Enter")) return;
  if (/^[0-9]$/.test(event.key)) {
    const id = classes.ofKey(event.key);
    if (id) label(id);
    else toast(`There is no class ${event.key} yet: press c to make one`);
  } else if (COMMANDS[event.key]) COMMANDS[event.key](event);
  else return;
  event.preventDefault();
});

listen();
