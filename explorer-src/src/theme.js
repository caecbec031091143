// Light or dark: as the system says until the reader chooses.
import { h, s } from "./dom.js";

const KEY = "tsenet-explorer-theme";

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be closed to files
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // then it lasts until the page is closed
  }
}

const system = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

export const theme = () => document.documentElement.dataset.theme ?? system();

export function themeButton(changed) {
  const given = remembered();
  if (given === "light" || given === "dark") document.documentElement.dataset.theme = given;
  const button = h(
    "button",
    { type: "button", class: "icon-button theme" },
    s(
      "svg",
      { width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" },
      s("circle", { cx: 9, cy: 9, r: 6.5, class: "ring" }),
      s("path", { d: "M9 2.5a6.5 6.5 0 0 1 0 13z", class: "half" }),
    ),
  );
  const name = () => {
    const other = theme() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${other} colours`);
    button.title = `Switch to ${other} colours`;
  };
  name();
  button.addEventListener("click", () => {
    const next = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remember(next);
    name();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    name();
    changed();
  });
  return button;
}
