// The tree of topics, and what can be done with a whole topic.
import { byId, chip, classOf, count, countOf, h, percent } from "./dom.js";

/** The tree; `opened` is called with a topic or null for all texts. */
export function makeTopics({ state, opened, labelTopic }) {
  const box = byId("tree");
  const tree = h("ul", { role: "tree", class: "tree", "aria-labelledby": "topics-title" });
  box.append(tree);
  let topics = [];
  let chosen = null;
  let focused = -1; // the topic that the keyboard is on; −1: all texts
  const open = new Set();

  const find = (topic) => topics.find((one) => one.topic === topic);
  const below = (topic) => topics.filter((one) => one.parent === topic);
  const isShown = (one) => one.parent < 0 || (open.has(one.parent) && isShown(find(one.parent)));

  function weakOf(one) {
    const most = Object.entries(one.weak).sort((a, b) => b[1] - a[1])[0];
    return most ? chip(classOf(state(), most[0]), "topic", count(most[1])) : null;
  }

  function itemOf(one, depth) {
    const has = below(one.topic).length > 0;
    const isOpen = open.has(one.topic);
    const toggle = h("span", { class: `twist${has ? "" : " none"}${isOpen ? " open" : ""}`, "aria-hidden": "true" });
    const meta = [`${countOf(one.n, "text")} (${percent(one.share)})`];
    if (one.labelled) meta.push(`${count(one.labelled)} labelled`);
    const said = one.class === null ? null : chip(classOf(state(), one.class), "model", percent(one.class_share));
    const item = h(
      "li",
      {
        role: "treeitem",
        class: `topic${chosen === one.topic ? " chosen" : ""}`,
        "aria-level": depth + 1,
        "aria-selected": String(chosen === one.topic),
        "aria-expanded": has ? String(isOpen) : null,
        tabindex: focused === one.topic ? 0 : -1,
        "data-topic": one.topic,
        title: one.words.join(", "),
      },
      toggle,
      h(
        "div",
        { class: "topic-text" },
        h("p", { class: "topic-title" }, one.title),
        h("p", { class: "quiet" }, meta.join(" · ")),
        said || one.labelled ? h("p", { class: "marks" }, said, weakOf(one)) : weakOf(one),
      ),
    );
    item.style.paddingInlineStart = `${6 + 14 * depth}px`;
    return item;
  }

  function draw() {
    const hadFocus = tree.contains(document.activeElement);
    const all = h(
      "li",
      {
        role: "treeitem",
        class: `topic${chosen === null ? " chosen" : ""}`,
        "aria-level": 1,
        "aria-selected": String(chosen === null),
        tabindex: focused === -1 ? 0 : -1,
        "data-topic": -1,
      },
      h("span", { class: "twist none", "aria-hidden": "true" }),
      h("div", { class: "topic-text" }, h("p", { class: "topic-title" }, "All texts")),
    );
    const depth = new Map();
    const items = topics.filter(isShown).map((one) => {
      depth.set(one.topic, one.parent < 0 ? 0 : depth.get(one.parent) + 1);
      return itemOf(one, depth.get(one.topic));
    });
    tree.replaceChildren(all, ...items);
    if (hadFocus) tree.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
    head();
  }

  function head() {
    const element = byId("topic-head");
    const one = chosen === null ? null : find(chosen);
    element.hidden = !one;
    if (!one) return;
    const { classes } = state();
    const select = h(
      "select",
      { id: "topic-class", "aria-label": "Class of the whole topic" },
      classes.map((each) => h("option", { value: each.id }, each.name)),
    );
    const likely = one.pure ?? one.class;
    if (classes.some((each) => each.id === likely)) select.value = likely;
    const weak = Object.keys(one.weak).length > 0;
    const hint = one.pure
      ? `The labels of this topic agree: ${classOf(state(), one.pure).name}. A label for the whole topic saves work.`
      : "A label for the whole topic counts less than one for a text, and gives way to it.";
    element.replaceChildren(
      h("p", { class: "topic-words" }, h("strong", {}, one.title), " ", h("span", { class: "quiet" }, one.words.slice(0, 10).join(", "))),
      h(
        "div",
        { class: "topic-act" },
        h("label", { for: "topic-class" }, "Whole topic:"),
        select,
        h(
          "button",
          {
            type: "button",
            id: "label-topic",
            disabled: classes.length < 2,
            onclick: () => labelTopic(one.topic, select.value),
          },
          `Label ${countOf(one.n, "text")}`,
        ),
        weak
          ? h(
              "button",
              { type: "button", class: "link", id: "unlabel-topic", onclick: () => labelTopic(one.topic, null) },
              "Take away",
            )
          : null,
      ),
      h("p", { class: "quiet" }, hint),
    );
  }

  function choose(topic) {
    chosen = topic;
    focused = topic ?? -1;
    for (let one = topic === null ? null : find(topic); one && one.parent >= 0; one = find(one.parent)) {
      open.add(one.parent);
    }
    draw();
    opened(topic);
  }

  tree.addEventListener("click", (event) => {
    const item = event.target.closest("[data-topic]");
    if (!item) return;
    const topic = Number(item.dataset.topic);
    if (event.target.closest(".twist:not(.none)")) {
      if (!open.delete(topic)) open.add(topic);
      focused = topic;
      draw();
    } else choose(topic < 0 ? null : topic);
  });

  tree.addEventListener("keydown", (event) => {
    const places = [-1, ...topics.filter(isShown).map((one) => one.topic)];
    const at = places.indexOf(focused);
    const one = find(focused);
    const to = (place) => {
      focused = places[Math.max(0, Math.min(places.length - 1, place))];
      draw();
      const item = tree.querySelector("[tabindex='0']");
      item.focus();
      item.scrollIntoView({ block: "nearest" });
    };
    const keys = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      Home: () => to(0),
      End: () => to(places.length - 1),
      ArrowRight: () => {
        if (!one || !below(focused).length) return;
        if (open.has(focused)) to(at + 1);
        else {
          open.add(focused);
          draw();
        }
      },
      ArrowLeft: () => {
        if (!one) return;
        if (open.delete(focused)) draw();
        else if (one.parent >= 0) to(places.indexOf(one.parent));
      },
      Enter: () => choose(focused < 0 ? null : focused),
      " ": () => choose(focused < 0 ? null : focused),
    };
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    keys[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    set(found) {
      const first = !topics.length;
      topics = found;
      if (first && found.length < 40) for (const one of found) open.add(one.topic);
      draw();
    },
    draw,
    choose,
    find,
    get chosen() {
      return chosen;
    },
  };
}
