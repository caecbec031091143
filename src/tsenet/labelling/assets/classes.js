// Classes: made, renamed, coloured and merged; a press or a key labels with them.
import { byId, classOf, count, h } from "./dom.js";

const N_COLOURS = 10;

/** The list of classes; `label` is called with an id, `change` with an action. */
export function makeClasses({ state, label, change }) {
  const box = byId("class-list");
  let editing = null;

  function rowOf(one, place) {
    const key = one.id === "none" ? "0" : place < 9 ? String(place + 1) : "";
    const counts = [count(one.labelled)];
    if (one.topic) counts.push(`+ ${count(one.topic)} by topic`);
    const tone = one.colour === null ? "hue-none" : `hue-${one.colour}`;
    const button = h(
      "button",
      {
        type: "button",
        class: `class ${tone}`,
        "data-class": one.id,
        "aria-keyshortcuts": key || null,
        onclick: () => label(one.id),
      },
      h("kbd", { "aria-hidden": "true" }, key),
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("bdi", { class: "class-name" }, one.name),
      h("span", { class: "quiet", title: "labelled" }, counts.join(" ")),
    );
    const edit =
      one.id === "none"
        ? null
        : h(
            "button",
            {
              type: "button",
              class: "icon",
              "aria-label": `Change ${one.name}`,
              "aria-expanded": String(editing === one.id),
              onclick: () => {
                editing = editing === one.id ? null : one.id;
                draw();
                byId("class-edit")?.focus();
              },
            },
            "…",
          );
    return h("li", {}, h("div", { class: "class-row" }, button, edit), editing === one.id ? editor(one) : null);
  }

  function editor(one) {
    const name = h("input", { id: "class-edit", type: "text", maxlength: 100, "aria-label": "Name of the class" });
    name.value = one.name;
    const others = state().classes.filter((each) => each.id !== one.id && each.id !== "none");
    const into = h(
      "select",
      { "aria-label": "Merge into" },
      h("option", { value: "" }, "Merge into…"),
      others.map((each) => h("option", { value: each.id }, each.name)),
    );
    into.addEventListener("change", () => {
      if (!into.value) return;
      editing = null;
      change({ do: "merge", class: one.id, into: into.value });
    });
    const close = () => {
      editing = null;
      draw();
    };
    return h(
      "form",
      {
        class: "editor",
        onsubmit: (event) => {
          event.preventDefault();
          if (name.value.trim() && name.value.trim() !== one.name) {
            change({ do: "class", class: one.id, name: name.value });
          }
          close();
        },
        onkeydown: (event) => {
          if (event.key === "Escape") close();
        },
      },
      h("div", { class: "line" }, name, h("button", { type: "submit" }, "Rename")),
      h(
        "div",
        { class: "colours", role: "group", "aria-label": "Colour" },
        Array.from({ length: N_COLOURS }, (_, colour) =>
          h("button", {
            type: "button",
            class: `swatch hue-${colour}`,
            "aria-label": `Colour ${colour + 1}`,
            "aria-pressed": String(colour === one.colour),
            onclick: () => change({ do: "class", class: one.id, colour }),
          }),
        ),
      ),
      others.length ? into : null,
    );
  }

  function draw() {
    const typed = byId("new-class")?.value ?? "";
    const active = document.activeElement;
    const focusId = box.contains(active) ? active.id || null : null;
    const focusClass = box.contains(active) ? active.dataset?.class : undefined;
    const edited = byId("class-edit")?.value;
    const ordered = state().classes;
    const add = h("input", {
      id: "new-class",
      type: "text",
      maxlength: 100,
      placeholder: "New class (c)",
      "aria-label": "Name of a new class",
    });
    add.value = typed;
    add.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        byId("list").focus({ preventScroll: true });
        event.stopPropagation();
      }
    });
    const several = h("input", { type: "checkbox", id: "several" });
    several.checked = state().several;
    several.addEventListener("change", () => change({ do: "several", on: several.checked }));
    const hint = "Name the classes of your texts, two or more. The number of a class labels the text that is shown.";
    box.replaceChildren(
      ordered.some((one) => one.id !== "none") ? "" : h("p", { class: "quiet", id: "class-hint" }, hint),
      h("ul", { class: "class-items" }, ordered.map(rowOf)),
      h(
        "form",
        {
          class: "line",
          onsubmit: (event) => {
            event.preventDefault();
            const name = add.value.trim();
            if (!name) return;
            add.value = "";
            change({ do: "class", name });
          },
        },
        add,
        h("button", { type: "submit" }, "Add"),
      ),
      h("label", { class: "check" }, several, " Several classes per text"),
    );
    if (edited !== undefined && byId("class-edit")) byId("class-edit").value = edited;
    if (focusId) byId(focusId)?.focus({ preventScroll: true });
    else if (focusClass) box.querySelector(`[data-class="${CSS.escape(focusClass)}"]`)?.focus({ preventScroll: true });
  }

  return {
    draw,
    /** The id of the class of a key from 0 to 9. */
    ofKey(key) {
      if (key === "0") return "none";
      const classes = state().classes.filter((one) => one.id !== "none");
      return classes[Number(key) - 1]?.id;
    },
    nameOf: (id) => classOf(state(), id).name,
  };
}
