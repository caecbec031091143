// Elements, numbers in words, colours of classes.

/** Make an element; texts become text nodes, so nothing that a document contains is ever markup. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

export const countOf = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

export const percent = (share) => `${Math.round(100 * share)} %`;

/** The class with an id; one that is gone has a dash for a name until the next model. */
export function classOf(state, id) {
  return state.classes.find((one) => one.id === id) ?? { id, name: "–", colour: null };
}

const hue = (colour) => (colour === null ? "hue-none" : `hue-${colour}`);

/** A class as a small label: solid for a person's, dashed for a topic's, without frame for the model's. */
export function chip(one, kind, more = "") {
  const said = { you: "labelled", file: "in the file", topic: "by topic", model: "predicted" }[kind];
  return h(
    "span",
    { class: `chip ${kind} ${hue(one.colour)}` },
    h("span", { class: "dot", "aria-hidden": "true" }),
    h("span", { class: "sr" }, `${said}: `),
    h("bdi", {}, one.name),
    more ? h("span", { class: "more" }, ` ${more}`) : null,
  );
}

let hiding = 0;

/** Say something for a few seconds; screen readers read it. */
export function toast(text, isError = false) {
  const element = byId("toast");
  element.textContent = text;
  element.classList.toggle("error", isError);
  element.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    element.hidden = true;
  }, isError ? 8000 : 3500);
}

const KEY = "tsenet-label-theme";

/** Light or dark: as the system says until the reader chooses. */
export function themeButton(button) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const name = () => {
    const other = now() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${other} colours`);
    button.title = `Switch to ${other} colours`;
  };
  const given = localStorage.getItem(KEY);
  if (given === "light" || given === "dark") document.documentElement.dataset.theme = given;
  button.append(
    s(
      "svg",
      { width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" },
      s("circle", { cx: 9, cy: 9, r: 6.5, class: "ring" }),
      s("path", { d: "M9 2.5a6.5 6.5 0 0 1 0 13z", class: "half" }),
    ),
  );
  button.addEventListener("click", () => {
    const next = now() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEY, next);
    name();
  });
  dark.addEventListener("change", name);
  name();
}
