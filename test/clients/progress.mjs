// Watches long and short scans with the official TypeScript SDK and prints a
// line for each thing that held. Argument: a server whose machine has a neighbour at
// 10.9.8.2 that never answers.
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "typescript-sdk", version: "1" });
const errors = [];
client.onerror = (error) => errors.push(error.message); // such as progress that belongs to no request
await client.connect(new StdioClientTransport({ command: process.argv[2] }));

async function scan(target, port_range) {
  const steps = [];
  let answered = false;
  const result = await client.callTool({ name: "scan_ports", arguments: { target, port_range } }, undefined, {
    onprogress: (step) => steps.push({ ...step, answered }),
  });
  answered = true;
  assert.equal(result.isError ?? false, false, JSON.stringify(result.structuredContent));
  return { steps, document: result.structuredContent };
}

const { steps, document } = await scan("10.9.8.2", "1-12000");
assert.equal(document.host, "no answer");
assert.ok(steps.length >= 2, `${steps.length} steps`);
console.log("ok progress");

assert.deepEqual(steps.map((s) => s.progress), steps.map((s) => s.progress).sort((a, b) => a - b));
assert.equal(new Set(steps.map((s) => s.progress)).size, steps.length);
for (const s of steps) assert.ok(s.total === 100 && s.progress < 100 && s.message, JSON.stringify(s));
console.log("ok order");

// Progress comes close to the answer here, and is read together with it when
// the client is slow.
for (let i = 0; i < 20; i++) steps.push(...(await scan("127.0.0.1", "1-16000")).steps);
await setTimeout(500);
assert.ok(steps.every((s) => !s.answered));
assert.deepEqual(errors, []);
console.log("ok none after the answer");

await client.close();
