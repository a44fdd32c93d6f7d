// Prints the published schemas of the protocol, by revision, as one JSON object. They
// are part of the conformance suite (MIT and Apache-2.0), whose one file holds them as literals.
import { readFile } from "node:fs/promises";

const source = await readFile("node_modules/@modelcontextprotocol/conformance/dist/index.js", "utf8");

// literal returns the object literal that begins at from. Texts in it are between
// backticks or quotes.
function literal(from) {
  let depth = 0;
  let quote = "";
  for (let i = from; ; i++) {
    const c = source[i];
    if (quote) {
      if (c === "\\") i++;
      else if (c === quote) quote = "";
    } else if ("`'\"".includes(c)) quote = c;
    else if (c === "{") depth++;
    else if (c === "}" && --depth === 0) return Function(`return ${source.slice(from, i + 1)}`)();
  }
}

const [, entries] = source.match(/=\{("2025-03-26":[^{}]*)\}/);
const schemas = {};
for (const entry of entries.split(",")) {
  const [key, variable] = entry.split(":");
  const revision = key.startsWith('"') ? JSON.parse(key) : "2026-07-28"; // which a constant names
  schemas[revision] = literal(source.search(new RegExp(`[,\\s]${variable.replaceAll("$", "\\$")}=\\{\\$schema`)) + variable.length + 2);
}
console.log(JSON.stringify(schemas));
