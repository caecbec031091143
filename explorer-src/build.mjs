// Bundles src/ into the assets that the Python package writes into every report.
// `node build.mjs` writes them; `node build.mjs --check` only says whether they are up to date.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "..", "src", "tsenet", "explain", "report", "assets");

/** SHA-256 over the names and contents of everything the bundle is made of; a Python test computes the same. */
async function stamp() {
  const files = ["build.mjs", "package.json", "package-lock.json"];
  for (const entry of await readdir(join(here, "src"), { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) files.push(relative(here, join(entry.parentPath, entry.name)).split(sep).join("/"));
  }
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    hash.update(`${file}\n`);
    hash.update(await readFile(join(here, file)));
  }
  return hash.digest("hex");
}

/** Licences of the packages that went into the bundle, each text once. */
async function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  const texts = new Map();
  for (const name of [...packages].sort()) {
    const text = (await readFile(join(here, "node_modules", name, "LICENSE"), "utf8")).trim();
    texts.set(text, [...(texts.get(text) ?? []), name]);
  }
  return [...texts].map(([text, names]) => `${names.join(", ")}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
}

async function bundle() {
  const options = { bundle: true, minify: true, write: false, absWorkingDir: here, target: ["es2021"], metafile: true };
  const script = await build({ ...options, entryPoints: ["src/main.js"], format: "iife" });
  const style = await build({ ...options, entryPoints: ["src/explorer.css"] });
  const notice = await licences(script.metafile);
  const mark = `tsenet explorer, built by make explorer from sources ${await stamp()}`;
  return {
    "explorer.js": `/*! ${mark}\n\nIt contains, with thanks:\n\n${notice}*/\n${script.outputFiles[0].text}`,
    "explorer.css": `/*! ${mark} */\n${style.outputFiles[0].text}`,
    "LICENSE-d3.txt": notice,
  };
}

const made = await bundle();
await mkdir(assets, { recursive: true });
const stale = [];
for (const [name, text] of Object.entries(made)) {
  const path = join(assets, name);
  if (process.argv.includes("--check")) {
    const old = await readFile(path, "utf8").catch(() => "");
    if (old !== text) stale.push(name);
  } else {
    await writeFile(path, text);
    console.log(`${name}: ${text.length.toLocaleString("en")} characters`);
  }
}
if (stale.length) {
  console.error(`not up to date: ${stale.join(", ")}. Run: make explorer`);
  process.exit(1);
}
