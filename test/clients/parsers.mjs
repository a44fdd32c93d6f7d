// Reads configurations as their clients do: VS Code with jsonc-parser, Gemini
// CLI with strip-json-comments. On stdin: a list of {parser, before, after, servers}. Prints how
// many held.
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { parse } from "jsonc-parser";
import stripJsonComments from "strip-json-comments";

const parsers = {
  "jsonc-parser": (raw) => {
    const errors = [];
    const value = parse(raw, errors, { allowTrailingComma: true });
    assert.deepEqual(errors, [], raw);
    return value;
  },
  "strip-json-comments": (raw) => JSON.parse(stripJsonComments(raw)),
  JSON: JSON.parse,
};

const cases = JSON.parse(await text(process.stdin));
for (const { parser, before, after, servers } of cases) {
  const was = parsers[parser](before);
  const is = parsers[parser](after);
  assert.equal(is[servers].sentinel.command, "/usr/local/bin/sentinel-mcp", after);
  delete is[servers].sentinel;
  was[servers] ??= {};
  assert.deepEqual(is, was, after);
}
console.log(`ok ${cases.length}`);
