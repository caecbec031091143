// Elements by plain calls. Text is always set as text: nothing of the data is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "vars") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element: `h("a", {href, class, onclick, text, vars}, ...children)`. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** An SVG element. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/** Text from the data: its own direction does not disturb what stands around it. */
export function name(text, props = {}) {
  return h("bdi", { dir: "auto", text, ...props });
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
