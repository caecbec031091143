// The payload, indexed for the questions the views ask.

/** Flat `[a, b, a, b, …]` as pairs. */
export function pairs(flat, stride = 2) {
  const found = [];
  for (let k = 0; k < flat.length; k += stride) found.push(flat.slice(k, k + stride));
  return found;
}

export const HUES = 10;

// A tie is loose if its kinship is below this share of the median of the page's ties. Learning leaves a topic without
// a parent from about .65 of it down, so that these are the weakest that it allows, and those that were asked for by levels=.
export const LOOSE_SHARE = 0.75;

export class Model {
  constructor(payload) {
    this.payload = payload;
    this.names = payload.names;
    this.parent = payload.parent;
    this.nouns = payload.nouns;
    this.nNodes = payload.names.length;
    this.nInputs = payload.layers[0];
    this.nLevels = payload.layers.length - 1;
    this.level = new Uint16Array(this.nNodes);
    let start = 0;
    payload.layers.forEach((size, level) => {
      this.level.fill(level, start, start + size);
      start += size;
    });
    this.byName = new Map();
    for (let node = this.nNodes - 1; node >= 0; node -= 1) this.byName.set(this.names[node], node);
    this.#index();
  }

  #index() {
    const { nNodes, nInputs, parent, payload } = this;
    this.children = Array.from({ length: nNodes }, () => []);
    this.wordsBelow = new Int32Array(nNodes).fill(1, 0, nInputs);
    this.unitsBelow = new Int32Array(nNodes);
    for (let node = 0; node < nNodes; node += 1) {
      const above = parent[node];
      if (above < 0) continue;
      this.children[above].push(node); // lower layers come first, so their sums are ready
      this.wordsBelow[above] += this.wordsBelow[node];
      this.unitsBelow[above] += this.unitsBelow[node] + (node >= nInputs ? 1 : 0);
    }
    for (let unit = nInputs; unit < nNodes; unit += 1) {
      if (this.level[unit] > 1) continue;
      const place = new Map(this.features(unit).map(([node], k) => [node, k]));
      const rank = (node) => place.get(node) ?? 1e6 - Math.abs(payload.strength[node]);
      this.children[unit].sort((a, b) => rank(a) - rank(b) || a - b);
    }
    this.roots = [];
    for (let node = nInputs; node < nNodes; node += 1) if (parent[node] < 0) this.roots.push(node);
    this.leastKinship = leastKinship(payload.units.kinship ?? []);
    this.sort("share");
    // A colour for each top unit, in the order of their sizes, and for all below it.
    this.hues = new Uint8Array(nNodes);
    this.roots.forEach((root, k) => {
      this.hues[root] = k % HUES;
    });
    for (let node = nNodes - 1; node >= 0; node -= 1) if (parent[node] >= 0) this.hues[node] = this.hues[parent[node]];
    // Added links: down by unit as given, up by turning them round.
    this.above = Array.from({ length: nNodes }, () => []);
    (payload.links?.of ?? []).forEach((flat, u) => {
      for (const [lower, strength] of pairs(flat)) this.above[lower].push([nInputs + u, strength]);
    });
    for (const list of this.above) list.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const trained = payload.trained?.label ?? [];
    // What a unit can be found by: its label, its own name, its listed words, and what training made of it.
    const listed = (unit) => this.features(unit).map(([node]) => this.names[node]).join(" ");
    this.search = this.names.map((name, node) =>
      fold(node < nInputs ? name : [this.label(node), name, listed(node), trained[node - nInputs] ?? ""].join(" ")),
    );
  }

  /** Order units and those below each: by "share" (the largest first), "name" or "coherence". */
  sort(order) {
    const bySize = (a, b) => this.level[b] - this.level[a] || this.room(b) - this.room(a) || a - b;
    const compare = {
      share: bySize,
      name: (a, b) => this.label(a).localeCompare(this.label(b)) || a - b,
      coherence: (a, b) => (this.coherence(b) ?? -2) - (this.coherence(a) ?? -2) || bySize(a, b),
    }[order];
    this.roots.sort(compare);
    for (let unit = this.nInputs; unit < this.nNodes; unit += 1) if (this.level[unit] > 1) this.children[unit].sort(compare);
  }

  isUnit(node) {
    return node >= this.nInputs;
  }

  /** What a node is called where people read it. */
  label(node) {
    return (this.isUnit(node) && this.payload.units.label[node - this.nInputs]) || this.names[node];
  }

  /** What a unit goes with in the trained network, which may be something else than its group; "" if not known. */
  trainedLabel(unit) {
    return this.payload.trained?.label[unit - this.nInputs] ?? "";
  }

  share(node) {
    return this.payload.units.share[node - this.nInputs] ?? 0;
  }

  /** How often the words of a unit occur together (NPMI); null where it is not known. */
  coherence(node) {
    return this.payload.units.coherence[node - this.nInputs] ?? null;
  }

  /** Whether a unit belongs to its parent clearly less than most do; not for models without kinship. */
  isLoose(node) {
    const kinship = this.payload.units.kinship?.[node - this.nInputs] ?? null;
    return kinship !== null && kinship < this.leastKinship;
  }

  /** Whether any tie of the page is loose. */
  get hasLoose() {
    return this.payload.units.kinship?.some((_, k) => this.isLoose(this.nInputs + k)) ?? false;
  }

  /** Whether the shares of units are known. */
  get hasShares() {
    return this.payload.units.share.length > 0;
  }

  /** Room of a unit on the map: its share, or the inputs below it where shares are not known. */
  room(node) {
    return this.hasShares ? Math.max(0.002, this.share(node)) : this.wordsBelow[node];
  }

  /** All units of one level (null: of all levels), in the order of `sort`. */
  unitsOfLevel(level) {
    const found = [];
    const visit = (nodes) => {
      for (const node of nodes) {
        if (!this.isUnit(node)) continue;
        if (level === null || this.level[node] === level) found.push(node);
        visit(this.children[node]);
      }
    };
    visit(this.roots);
    return found;
  }

  /** Inputs below a unit, at any depth. */
  inputsUnder(unit) {
    return this.children[unit].flatMap((node) => (this.isUnit(node) ? this.inputsUnder(node) : [node]));
  }

  /** Units right below; words are none. */
  unitsUnder(node) {
    return this.level[node] > 1 ? this.children[node].filter((child) => this.isUnit(child)) : [];
  }

  features(unit) {
    const { features, fields } = this.payload.units;
    return pairs(features[unit - this.nInputs] ?? [], 1 + fields.length);
  }

  addedBelow(unit) {
    return pairs(this.payload.links?.of[unit - this.nInputs] ?? []);
  }

  nAddedBelow(unit) {
    return this.payload.links?.nBelow[unit - this.nInputs] ?? 0;
  }

  nAddedAbove(node) {
    return this.payload.links?.nAbove[node] ?? 0;
  }

  effects(unit) {
    return pairs(this.payload.classes?.of[unit - this.nInputs] ?? []);
  }

  /** Units that raise or lower a class: `[unit, effect]`, strongest first. */
  unitsOf(cls) {
    const found = [];
    for (let unit = this.nInputs; unit < this.nNodes; unit += 1) {
      for (const [c, effect] of this.effects(unit)) if (c === cls) found.push([unit, effect]);
    }
    return found.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  }

  /** Inputs that speak directly for or against a class: `[input, effect]`, strongest first. */
  directOf(cls) {
    return pairs(this.payload.classes?.direct?.[cls] ?? []);
  }

  /**
   * All effects on a class, also those that are not listed: `{n, sum}` of one sign.
   * @param layers 0 for the inputs, then the levels
   */
  total(cls, layers, sign) {
    const at = sign > 0 ? 0 : 2;
    const parts = layers.map((layer) => this.payload.classes.totals[cls][layer]);
    return { n: parts.reduce((a, part) => a + part[at], 0), sum: parts.reduce((a, part) => a + part[at + 1], 0) };
  }

  rows(unit) {
    return pairs(this.payload.rows?.of[unit - this.nInputs] ?? []);
  }

  /** A node's ancestors, from its parent up. */
  path(node) {
    const found = [];
    for (let at = this.parent[node]; at >= 0; at = this.parent[at]) found.push(at);
    return found;
  }

  levelName(level) {
    return level === 0 ? this.nouns.input[0] : `level ${level}`;
  }

  /**
   * Nodes that match a query, best first: whole names, then texts in which every word of the query begins a word, then
   * those that have it anywhere, then the smallest units that hold all words of the query, then its words one by one.
   */
  find(query, most = 40) {
    const wanted = fold(query).trim();
    if (!wanted) return [];
    const words = wanted.split(/[\s,]+/u).filter(Boolean);
    const graded = [[], [], [], [], []];
    const found = new Set();
    const put = (grade, node) => {
      if (!found.has(node)) graded[grade].push(node);
      found.add(node);
    };
    for (let node = 0; node < this.nNodes; node += 1) {
      const grade = this.#grade(node, wanted, words);
      if (grade !== null) put(grade, node);
    }
    if (words.length > 1) {
      this.#holdingAll(words).forEach((node) => put(3, node));
      for (let node = 0; node < this.nInputs; node += 1) if (words.includes(this.search[node])) put(4, node);
    }
    const order = (a, b) =>
      this.isUnit(a) - this.isUnit(b) ||
      (this.isUnit(a) ? this.share(b) - this.share(a) : 0) ||
      this.search[a].length - this.search[b].length ||
      a - b;
    return graded.flatMap((group) => group.sort(order)).slice(0, most);
  }

  #grade(node, wanted, words) {
    const text = this.search[node];
    if (text === wanted || fold(this.names[node]) === wanted) return 0;
    if (words.every((word) => begins(text, word)) || begins(text, wanted)) return 1;
    return text.includes(wanted) || words.every((word) => text.includes(word)) ? 2 : null;
  }

  /** The smallest units that have each of some words below them. */
  #holdingAll(words) {
    const held = new Map(); // unit → the words below it
    for (let node = 0; node < this.nInputs; node += 1) {
      const k = words.indexOf(this.search[node]);
      if (k < 0) continue;
      for (const unit of this.path(node)) held.set(unit, (held.get(unit) ?? new Set()).add(k));
    }
    const all = [...held].filter(([, has]) => has.size === new Set(words).size).map(([unit]) => unit);
    const larger = new Set(all.flatMap((unit) => this.path(unit)));
    return all.filter((unit) => !larger.has(unit));
  }
}

/** Kinship below which a tie is loose; −∞ where there is none to compare with. */
function leastKinship(kinship) {
  const known = kinship.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = known.length >> 1;
  const median = known.length % 2 ? known[middle] : (known[middle - 1] + known[middle]) / 2;
  return median > 0 ? LOOSE_SHARE * median : -Infinity;
}

/** Whether a word of a text begins with what is given. */
function begins(text, start) {
  return text.startsWith(start) || text.includes(` ${start}`);
}

/** Without case and accents. */
export function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
