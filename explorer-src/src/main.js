// The report page: reads its payload, builds the frame, and shows the view the address names.
import { h, name, replace, s } from "./dom.js";
import { Model } from "./model.js";
import { Router } from "./router.js";
import { Search } from "./search.js";
import { themeButton } from "./theme.js";
import { capital } from "./format.js";
import { TreeView } from "./views/tree-view.js";
import { classesView } from "./views/classes.js";
import { alongView } from "./views/along.js";
import { documentsView } from "./views/documents.js";
import { networkView } from "./views/network.js";
import { trainingView } from "./views/training.js";
import { dataView } from "./views/data.js";
import { listView } from "./views/list.js";

function brand() {
  return s(
    "svg",
    { class: "mark", width: 26, height: 26, viewBox: "0 0 26 26", "aria-hidden": "true" },
    s("path", { class: "solid", d: "M13 5 5 13M13 5l8 8M5 13l-0 8M21 13v8" }),
    s("path", { class: "dashed", d: "M5 13l8 8M21 13l-8 8" }),
    ...[[13, 5], [5, 13], [21, 13], [5, 21], [13, 21], [21, 21]].map(([cx, cy], k) =>
      s("circle", { cx, cy, r: k < 3 ? 2.8 : 2.1 }),
    ),
  );
}

function start() {
  const payload = JSON.parse(document.getElementById("payload").textContent);
  const model = new Model(payload);
  const router = new Router(model);
  const search = new Search(model, router);
  const treeView = new TreeView(model, router);

  const views = new Map([["tree", ["Map and tree", () => treeView.element]], ["list", ["List", () => listView(model, router)]]]);
  if (payload.classes) views.set("classes", [capital(payload.classes.noun[1]), (state) => classesView(model, router, state)]);
  if (payload.documents) views.set("documents", [capital(payload.nouns.row[1]), () => documentsView(model, router)]);
  if (payload.along) views.set("along", [capital(payload.along.name), (state) => alongView(model, router, state)]);
  if (payload.network) views.set("network", ["Network", () => networkView(payload.network)]);
  if (payload.training) views.set("training", ["Training", () => trainingView(payload.training)]);
  views.set("data", ["Data", () => dataView(model)]);

  const links = new Map(
    [...views].map(([key, [label]]) => [key, h("a", { href: router.hrefView(key) }, name(label))]),
  );
  const main = h("main", { id: "main", tabindex: "-1" });
  const theme = themeButton(() => treeView.tree.redraw());
  const notice = h("div", { class: "notice", role: "status", hidden: true });
  replace(
    document.getElementById("app"),
    h("a", { class: "skip", href: "#main", text: "Skip to the content", onclick: (event) => {
      event.preventDefault();
      main.focus();
    } }),
    h(
      "header",
      { class: "top" },
      h("a", { class: "brand", href: router.hrefView("tree") }, brand(), name(payload.title, { class: "title" })),
      h("nav", { "aria-label": "Views" }, [...links.values()]),
      search.element,
      theme,
    ),
    notice,
    main,
  );

  /** Say what an address asked for in vain. */
  const tell = (text) => {
    notice.hidden = text === null;
    const close = () => {
      notice.hidden = true;
    };
    replace(
      notice,
      h("span", {}, name(text ?? "")),
      h("button", { type: "button", class: "icon-button", "aria-label": "Close the message", text: "×", onclick: close }),
    );
  };

  let shown = null;
  const show = (state) => {
    const { view } = state;
    tell(state.missing);
    for (const [key, link] of links) {
      if (key === view) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else link.removeAttribute("aria-current");
    }
    const element = views.get(view)[1](state);
    if (main.firstElementChild !== element) replace(main, element);
    if (shown !== view) main.scrollTop = 0;
    shown = view;
    document.body.dataset.view = view;
    treeView.show(view === "tree" ? state : { ...state, node: treeView.tree.selected });
  };
  router.listeners.push(show);
  show(router.read());
}

start();
