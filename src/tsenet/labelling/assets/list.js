// The list of texts: only the rows in sight exist, however many there are.
import { byId, chip, classOf, count, h, percent } from "./dom.js";
import { get } from "./api.js";

const ROW = 68; // pixels, as in label.css
const PAGE = 60; // texts that are asked for at once
const COMING = 2; // rows that stay in sight below the current one
const AHEAD = 8; // rows drawn above and below those in sight

const REASONS = {
  random: "random",
  typical: "typical of a narrow topic",
  uncertain: "the model is unsure",
  disagreement: "model and topic disagree",
};

/** A view and its first texts: a list is opened when both are there, so that keys always mean the text that is shown. */
export async function fetchView(fields) {
  const found = await get("view", fields);
  const { items, revision } = await get("page", { view: found.view, start: 0, n: PAGE });
  return { ...found, items: items.map((one) => ({ ...one, revision })) };
}

/** A virtual list of one view; `moved` is called with the current item, `state` gives the classes. */
export function makeList({ moved, selectionChanged, state }) {
  const box = byId("list");
  const space = h("div", { class: "space" });
  box.append(space);
  let view = null; // { view, n }
  let pages = new Map(); // items by page, or a promise of them
  let current = -1;
  let anchor = -1;
  let selected = new Set(); // places in the list
  let everything = false; // all of the view
  const drawn = new Map();

  const pageOf = (place) => Math.floor(place / PAGE);
  const item = (place) => {
    const page = pages.get(pageOf(place));
    return Array.isArray(page) ? page[place % PAGE] : undefined;
  };

  /** Have a page of the list, now or a moment later; one that could not be had is asked for again when next needed. */
  function load(number) {
    if (pages.has(number)) return pages.get(number);
    const own = view;
    const asked = get("page", { view: own.view, start: number * PAGE, n: PAGE }).then(
      ({ items, revision }) => {
        if (view !== own) return;
        pages.set(
          number,
          items.map((one) => ({ ...one, revision })),
        );
        draw(true);
      },
      () => {
        if (view === own) pages.delete(number);
      },
    );
    pages.set(number, asked);
    return asked;
  }

  function rowOf(place) {
    const one = item(place);
    const isCurrent = place === current;
    const isSelected = everything || selected.has(place);
    const row = h("div", {
      role: "option",
      id: `row-${place}`,
      class: `row${isCurrent ? " current" : ""}${isSelected ? " selected" : ""}`,
      "aria-selected": String(isSelected || (isCurrent && !selected.size)),
      "aria-posinset": place + 1,
      "aria-setsize": view.n,
      "data-place": place,
    });
    row.style.transform = `translateY(${place * ROW}px)`;
    if (!one) {
      row.append(h("p", { class: "text quiet" }, "…"));
      return row;
    }
    const marks = one.classes.map((id) => chip(classOf(state(), id), one.who));
    if (!one.classes.length && one.skipped) marks.push(h("span", { class: "chip plain" }, "skipped"));
    if (!one.classes.length && !one.skipped && one.predicted.length) {
      const sure = one.confidence === null ? "" : percent(one.confidence);
      marks.push(...one.predicted.map((id) => chip(classOf(state(), id), "model", sure)));
    }
    if (one.note) marks.push(h("span", { class: "chip plain" }, "note"));
    if (one.reason && !one.classes.length) {
      marks.push(h("span", { class: "reason" }, REASONS[one.reason]));
    }
    row.append(
      h("p", { class: "text", dir: "auto" }, one.text + (one.cut ? "…" : "")),
      h("p", { class: "marks" }, marks),
    );
    return row;
  }

  function draw(again = false) {
    if (!view) return;
    const first = Math.max(0, Math.floor(box.scrollTop / ROW) - AHEAD);
    const end = Math.min(view.n, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + AHEAD);
    for (const [place, row] of drawn) {
      if (again || place < first || place >= end) {
        row.remove();
        drawn.delete(place);
      }
    }
    for (let place = first; place < end; place += 1) {
      load(pageOf(place));
      if (!drawn.has(place)) {
        const row = rowOf(place);
        drawn.set(place, row);
        space.append(row);
      }
    }
    if (current >= 0 && drawn.has(current)) {
      box.setAttribute("aria-activedescendant", `row-${current}`);
    } else box.removeAttribute("aria-activedescendant");
  }

  function redraw(place) {
    const old = drawn.get(place);
    if (!old) return;
    const row = rowOf(place);
    old.replaceWith(row);
    drawn.set(place, row);
  }

  const perScreen = () => Math.max(1, Math.floor(box.clientHeight / ROW) - 1);

  function reveal(place) {
    const top = place * ROW;
    const bottom = top + (1 + Math.min(COMING, perScreen() - 1)) * ROW;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop + box.clientHeight) {
      box.scrollTop = bottom - box.clientHeight;
    }
  }

  function go(place, { extend = false, keep = false } = {}) {
    if (!view?.n) return;
    const next = Math.max(0, Math.min(view.n - 1, place));
    if (extend) {
      const from = anchor < 0 ? current : anchor;
      anchor = from;
      selected = new Set();
      for (let k = Math.min(from, next); k <= Math.max(from, next); k += 1) selected.add(k);
      everything = false;
    } else {
      anchor = next;
      if (!keep) clear();
    }
    current = next;
    reveal(current);
    draw(true);
    selectionChanged();
    const one = item(current);
    if (one) moved(one);
    else Promise.resolve(load(pageOf(current))).then(() => item(current) && moved(item(current)));
  }

  function toggle(place) {
    everything = false;
    if (!selected.delete(place)) selected.add(place);
    redraw(place);
    selectionChanged();
  }

  function clear() {
    if (!selected.size && !everything) return;
    selected = new Set();
    everything = false;
    draw(true);
    selectionChanged();
  }

  let waiting = false;
  box.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  });
  new ResizeObserver(() => draw()).observe(box);
  box.addEventListener("click", (event) => {
    const row = event.target.closest("[data-place]");
    if (!row) return;
    const place = Number(row.dataset.place);
    if (event.ctrlKey || event.metaKey) {
      if (!selected.size && current >= 0) selected.add(current);
      toggle(place);
    } else go(place, { extend: event.shiftKey });
  });

  return {
    /** Show another view that was fetched: from its first text, or where the last one was. */
    open(found, place = 0) {
      const scrolled = current < 0 || place === 0 ? 0 : box.scrollTop + (place - current) * ROW;
      view = found;
      pages = new Map([[0, found.items]]);
      selected = new Set();
      everything = false;
      current = -1;
      anchor = -1;
      space.style.height = `${found.n * ROW}px`;
      box.scrollTop = scrolled;
      if (found.n) go(place);
      else {
        draw(true);
        moved(null);
        selectionChanged();
      }
    },
    /** Ask again for what is in sight, as after a new model or another window's labels. */
    refresh() {
      if (!view) return;
      const own = view;
      const numbers = new Set([...drawn.keys()].map(pageOf));
      if (current >= 0) numbers.add(pageOf(current));
      for (const number of pages.keys()) if (!numbers.has(number)) pages.delete(number);
      for (const number of numbers) {
        get("page", { view: own.view, start: number * PAGE, n: PAGE }).then(
          ({ items, revision }) => {
            if (view !== own) return;
            pages.set(
              number,
              items.map((one) => ({ ...one, revision })),
            );
            draw(true);
          },
          () => {},
        );
      }
    },
    /** Change what is known of a text, before the server has answered. */
    patch(documentNumber, changes) {
      for (const page of pages.values()) {
        const one = Array.isArray(page) && page.find((each) => each.document === documentNumber);
        if (one) Object.assign(one, changes);
      }
      draw(true);
    },
    go,
    toggle: () => current >= 0 && toggle(current),
    clear,
    selectAll() {
      if (!view?.n) return;
      everything = true;
      draw(true);
      selectionChanged();
    },
    next: () => go(current + 1),
    /** Go to a document, if it is in what was loaded of the list. */
    goTo(documentNumber) {
      for (const [number, page] of pages) {
        const k = Array.isArray(page) ? page.findIndex((one) => one.document === documentNumber) : -1;
        if (k >= 0) go(number * PAGE + k);
      }
    },
    get current() {
      return current < 0 ? undefined : item(current);
    },
    get place() {
      return current;
    },
    get size() {
      return view?.n ?? 0;
    },
    /** How many texts of the list were not read when it was made. */
    get ahead() {
      return view ? view.n - Math.max(view.kept - 1, 0) : 0;
    },
    get view() {
      return view?.view;
    },
    get everything() {
      return everything;
    },
    /** The texts that are selected one by one, also those far out of sight. */
    async selectedItems() {
      const own = view;
      const places = [...selected];
      await Promise.all([...new Set(places.map(pageOf))].map(load));
      const items = view === own ? places.map(item) : [];
      return items.every(Boolean) ? items : [];
    },
    /** Whether another list was asked for: this one stays until it is there. */
    set busy(on) {
      box.setAttribute("aria-busy", String(on));
    },
    get busy() {
      return box.getAttribute("aria-busy") === "true";
    },
    get nSelected() {
      return everything ? view.n : selected.size;
    },
    describe() {
      const n = this.nSelected;
      return n ? `${count(n)} of ${count(view.n)} selected` : count(view?.n ?? 0);
    },
    perScreen,
    focus: () => box.focus({ preventScroll: true }),
  };
}
