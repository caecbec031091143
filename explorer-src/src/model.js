// The payload, indexed for the questions the views ask.

/** Flat `[a, b, a, b, …]` as pairs. */
export function pairs(flat, stride = 2) {
  const found = [];
  for (let k = 0; k < flat.length; k += stride) found.push(flat.slice(k, k + stride));
  return found;
}

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
    const byShare = (a, b) => this.share(b) - this.share(a) || this.wordsBelow[b] - this.wordsBelow[a] || a - b;
    for (let unit = nInputs; unit < nNodes; unit += 1) {
      if (this.level[unit] > 1) this.children[unit].sort(byShare);
      else {
        const place = new Map(this.features(unit).map(([node], k) => [node, k]));
        const rank = (node) => place.get(node) ?? 1e6 - Math.abs(payload.strength[node]);
        this.children[unit].sort((a, b) => rank(a) - rank(b) || a - b);
      }
    }
    this.roots = [];
    for (let node = nInputs; node < nNodes; node += 1) if (parent[node] < 0) this.roots.push(node);
    this.roots.sort(byShare);
    // Added links: down by unit as given, up by turning them round.
    this.above = Array.from({ length: nNodes }, () => []);
    (payload.links?.of ?? []).forEach((flat, u) => {
      for (const [lower, strength] of pairs(flat)) this.above[lower].push([nInputs + u, strength]);
    });
    for (const list of this.above) list.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const trained = payload.trained?.label ?? [];
    this.search = this.names.map((name, node) =>
      fold(node < nInputs ? name : [this.label(node), name, trained[node - nInputs] ?? ""].join(" ")),
    );
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

  features(unit) {
    const { features, fields } = this.payload.units;
    return pairs(features[unit - this.nInputs] ?? [], 1 + fields.length);
  }

  trainedFeatures(unit) {
    return pairs(this.payload.trained?.features[unit - this.nInputs] ?? [], 3);
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

  /** Nodes that match a query: whole names first, then beginnings of words, then anything. */
  find(query, most = 40) {
    const wanted = fold(query).trim();
    if (!wanted) return [];
    const graded = [[], [], []];
    for (let node = 0; node < this.nNodes; node += 1) {
      const text = this.search[node];
      const at = text.indexOf(wanted);
      if (at < 0) continue;
      const whole = text === wanted || fold(this.names[node]) === wanted;
      const begins = at === 0 || text.includes(` ${wanted}`);
      graded[whole ? 0 : begins ? 1 : 2].push(node);
    }
    // Words before the units labelled with them; then large before small.
    const order = (a, b) =>
      this.isUnit(a) - this.isUnit(b) || this.search[a].length - this.search[b].length || a - b;
    return graded.flatMap((group) => group.sort(order)).slice(0, most);
  }
}

/** Without case and accents. */
export function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
