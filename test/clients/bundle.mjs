// Starts what is in an unpacked bundle the way a client does: the official
// library makes the command line of the manifest and of what the user chose, and the official
// SDK talks to it. Prints a line for each thing that held. Argument: the folder of the bundle.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [extensionPath] = process.argv.slice(2);
const manifest = JSON.parse(await readFile(`${extensionPath}/manifest.json`, "utf8"));

async function connect(userConfig) {
  const config = await getMcpConfigForManifest({ manifest, extensionPath, systemDirs: {}, userConfig, pathSeparator: "/" });
  assert.equal(config.command, `${extensionPath}/server/sentinel-mcp`);
  const client = new Client({ name: "bundle", version: "1" });
  await client.connect(new StdioClientTransport(config));
  return client;
}

async function names(client) {
  return (await client.listTools()).tools.map((tool) => tool.name);
}

const usual = await connect({});
assert.deepEqual((await names(usual)).sort(), manifest.tools.map((tool) => tool.name).sort());
console.log("ok the tools of the manifest");

const health = await usual.callTool({ name: "get_system_health", arguments: {} });
assert.equal(health.isError ?? false, false);
assert.equal(health.structuredContent.success, true);
assert.equal(health.structuredContent.version, manifest.version);
console.log("ok the bundled sentinel answers");
await usual.close();

const looking = await connect({ read_only: true, toolsets: "all" });
const offered = await names(looking);
assert.ok(offered.includes("get_action_history") && !offered.includes("terminate_process"), offered.join());
console.log("ok what the user chose");
await looking.close();
