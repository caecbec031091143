// The search box: a combobox over words and units.
import { h, name, replace } from "./dom.js";
import { capital } from "./format.js";

export class Search {
  constructor(model, router) {
    this.model = model;
    this.router = router;
    this.found = [];
    this.at = -1;
    const nouns = `${model.nouns.input[1]} and ${model.nouns.unit[1]}`;
    this.input = h("input", {
      id: "search",
      type: "search",
      role: "combobox",
      placeholder: `Search ${nouns}`,
      "aria-label": `Search ${nouns}`,
      "aria-expanded": "false",
      "aria-controls": "search-results",
      "aria-autocomplete": "list",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      oninput: () => this.#update(),
      onkeydown: (event) => this.#key(event),
      onfocus: () => this.#update(),
      onblur: () => setTimeout(() => this.#close(), 120), // a click on a result comes first
    });
    this.list = h("ul", { id: "search-results", role: "listbox", "aria-label": "Results", hidden: true });
    this.status = h("span", { class: "sr", role: "status" });
    this.element = h(
      "div",
      { class: "search" },
      this.input,
      h("kbd", { class: "hint", "aria-hidden": "true", text: "/" }),
      this.list,
      this.status,
    );
    addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        this.input.focus();
        this.input.select();
      }
    });
  }

  #update() {
    const query = this.input.value;
    this.found = this.model.find(query).map((node) => this.#nodeResult(node));
    this.at = this.found.length ? 0 : -1;
    const asked = query.trim() !== "";
    replace(this.list, ...this.found.map((result, k) => this.#option(result, k)));
    if (asked && !this.found.length) {
      this.list.append(h("li", { class: "none", role: "presentation", text: "Nothing found" }));
    }
    this.list.hidden = !asked;
    this.input.setAttribute("aria-expanded", String(asked && this.found.length > 0));
    this.status.textContent = asked ? `${this.found.length} found` : "";
    this.#mark();
  }

  #nodeResult(node) {
    const { model } = this;
    const above = model.parent[node];
    const unit = model.isUnit(node);
    return {
      href: this.router.hrefNode(node),
      kind: unit ? model.levelName(model.level[node]) : model.nouns.input[0],
      what: model.label(node),
      where: unit ? model.names[node] : above >= 0 ? model.label(above) : "in no group",
    };
  }

  #option({ kind, what, where }, k) {
    return h(
      "li",
      {
        id: `result-${k}`,
        role: "option",
        "aria-selected": "false",
        onpointerdown: (event) => {
          event.preventDefault();
          this.#choose(k);
        },
      },
      h("span", { class: "kind", text: capital(kind) }),
      name(what, { class: "what" }),
      name(where, { class: "where" }),
    );
  }

  #mark() {
    [...this.list.children].forEach((item, k) => item.setAttribute("aria-selected", String(k === this.at)));
    const current = this.at >= 0 ? this.list.children[this.at] : null;
    if (current) {
      this.input.setAttribute("aria-activedescendant", current.id);
      current.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const n = this.found.length;
    if (event.key === "ArrowDown" && n) this.at = (this.at + 1) % n;
    else if (event.key === "ArrowUp" && n) this.at = (this.at + n - 1) % n;
    else if (event.key === "Enter" && this.at >= 0) return this.#choose(this.at);
    else if (event.key === "Escape") {
      if (this.list.hidden) this.input.blur();
      this.input.value = "";
      this.#close();
      return;
    } else return;
    event.preventDefault();
    this.#mark();
  }

  #choose(k) {
    const { href } = this.found[k];
    this.input.value = "";
    this.#close();
    this.input.blur();
    this.router.go(href);
    document.querySelector("[role=tree]")?.focus({ preventScroll: true });
  }

  #close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.status.textContent = "";
  }
}
