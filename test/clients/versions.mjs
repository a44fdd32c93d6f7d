// Drives sentinel-mcp with one version of the TypeScript SDK: a list, a call, an error
// and a cancellation. Arguments: the module of the client, that of its transport, the
// revision that both are to agree on, the folder of the two binaries, and the folder that
// sdk.mjs describes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

const [clientModule, transportModule, revision, binaries, observed] = process.argv.slice(2);
const { Client } = await import(clientModule);
const { StdioClientTransport } = await import(transportModule);

const pinned = revision === "2026-07-28" ? { versionNegotiation: { mode: { pin: revision } } } : {};
const client = new Client({ name: "typescript-sdk", version: "1" }, pinned);
client.onerror = (error) => {
  throw error; // such as an answer that belongs to no request
};
await client.connect(new StdioClientTransport({ command: `${binaries}/sentinel-mcp`, args: ["--sentinel", `${observed}/sentinel`] }));

const { tools } = await client.listTools();
assert.ok(tools.length > 10);
console.log("ok list");

const wrong = await client.callTool({ name: "get_top_processes", arguments: { count: 0 } });
assert.equal(wrong.isError, true);
assert.equal(wrong.structuredContent.error_code, "INVALID_ARGUMENT");
await assert.rejects(client.callTool({ name: "nothing_such", arguments: {} }), { code: -32602 });
console.log("ok error");

const abort = new AbortController();
const started = readFile(`${observed}/up`).then(() => abort.abort());
const ended = readFile(`${observed}/status`, "utf8");
const cancelled = clientModule.includes("sdk") ? [undefined, { signal: abort.signal }] : [{ signal: abort.signal }];
await assert.rejects(client.callTool({ name: "get_top_processes", arguments: {} }, ...cancelled));
await started;
assert.notEqual((await ended).trim(), "0"); // sentinel was stopped
console.log("ok cancel");

const again = readFile(`${observed}/up`);
const status = readFile(`${observed}/status`);
const result = await client.callTool({ name: "get_top_processes", arguments: { count: 1 } });
assert.equal(result.structuredContent.processes.length, 1);
await Promise.all([again, status]);
console.log("ok call");
await client.close();
