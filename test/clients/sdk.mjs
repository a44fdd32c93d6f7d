// Drives sentinel-mcp with the official TypeScript SDK and prints a line for
// each thing that held. Arguments: the folder of the two binaries, and a folder with
// "sentinel", a script around the real one, and its named pipes "up" and "status".
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [binaries, observed] = process.argv.slice(2);

async function connect(...args) {
  const client = new Client({ name: "typescript-sdk", version: "1" });
  client.onerror = (error) => {
    throw error; // such as an answer that belongs to no request
  };
  await client.connect(new StdioClientTransport({ command: `${binaries}/sentinel-mcp`, args }));
  return client;
}

async function passed(name, check) {
  await check();
  console.log(`ok ${name}`);
}

const client = await connect("--toolsets", "all");
const { tools } = await client.listTools(); // from here on every result is checked against its output schema

await passed("instructions", () => assert.match(client.getInstructions(), /not zero/));

await passed("list", () => {
  for (const tool of tools) {
    assert.ok(tool.title && tool.description && tool.outputSchema, tool.name);
    assert.equal(Object.keys(tool.annotations).length, 5, tool.name);
  }
});

const given = { get_process_details: { pid: process.pid }, get_disk_usage: { path: "/etc" } };
for (const tool of tools.filter((t) => t.annotations.readOnlyHint)) {
  await passed(`call ${tool.name}`, async () => {
    const result = await client.callTool({ name: tool.name, arguments: given[tool.name] ?? {} });
    const code = result.structuredContent.error_code;
    // Without systemd, and without a recorder that has run here.
    const unsupported = tool.name === "get_service_status" && code === "UNSUPPORTED" || tool.name === "get_health_history" && code === "UNAVAILABLE";
    assert.equal(result.isError ?? false, unsupported);
    assert.equal(result.structuredContent.success, !unsupported);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  });
}

await passed("wrong argument", async () => {
  const result = await client.callTool({ name: "get_top_processes", arguments: { count: "many" } });
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent.error_code, "INVALID_ARGUMENT");
  assert.match(result.structuredContent.error, /whole number from 1 to 100/);
});

await passed("unknown tool", () => assert.rejects(client.callTool({ name: "nothing_such" }), { code: -32602 }));

await passed("side by side", async () => {
  const calls = Array.from({ length: 12 }, () => client.callTool({ name: "get_top_processes", arguments: { count: 1 } }));
  for (const result of await Promise.all(calls)) assert.equal(result.structuredContent.processes.length, 1);
});

await client.close();

await passed("cancel", async () => {
  const client = await connect("--sentinel", `${observed}/sentinel`);
  const abort = new AbortController();
  const started = readFile(`${observed}/up`).then(() => abort.abort());
  const ended = readFile(`${observed}/status`, "utf8");
  await assert.rejects(client.callTool({ name: "get_top_processes" }, undefined, { signal: abort.signal }));
  await started;
  assert.notEqual((await ended).trim(), "0"); // sentinel was stopped
  await client.ping();
  await client.close();
});
