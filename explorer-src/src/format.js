// Numbers as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

export const counted = (n, [one, many]) => `${count(n)} ${n === 1 ? one : many}`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function percent(share) {
  const p = 100 * share;
  if (p > 0 && p < 0.1) return "< 0.1 %";
  return `${p === 0 || p >= 9.95 ? Math.round(p) : p.toFixed(1)} %`;
}

/** Three significant digits, with a true minus. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = size >= 1000 ? count(Math.round(size)) : String(Number(size.toPrecision(3)));
  return value < 0 ? `−${text}` : text;
}

export const signed = (value) => (value > 0 ? `+${number(value)}` : number(value));

const scaled = (units, base) => (value) => {
  let k = 0;
  while (value >= base && k < units.length - 1) {
    value /= base;
    k += 1;
  }
  const digits = k === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${units[k]}`;
};

export const compact = scaled(["", " k", " M", " G", " T"], 1000);
export const bytes = scaled([" B", " kB", " MB", " GB", " TB"], 1000);
