// Has one conversation for each revision with a server, and prints what came of each step as a
// line. Arguments: the SDK (the one of 2025, that of today, or the client that is split from
// it), the revisions with commas between, the plan below, a folder that is the client's root, and
// the command of the server, in which REVISION stands for the revision.
import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [sdk, revisions, planName, root, command, ...args] = process.argv.slice(2);
const split = sdk === "client"; // the client is a package of its own, with methods instead of schemas
const base = split ? "@modelcontextprotocol/client" : sdk === "old" ? "sdk-of-2025" : "@modelcontextprotocol/sdk";
const { Client } = await import(split ? base : `${base}/client/index.js`);
const { StdioClientTransport } = await import(split ? `${base}/stdio` : `${base}/client/stdio.js`);
const types = split ? {} : await import(`${base}/types.js`);

// Each plan names what a server has: calls of tools, prompts, resources, and how it asks for roots.
const plans = {
  everything: {
    logsRoots: true,
    calls: [
      ["echo", { message: "ü\u2028\n\ud83d\ude00" }], ["get-sum", { a: 1.5, b: -2e3 }], ["get-sum", { a: "one" }], ["get-tiny-image", {}],
      ["get-annotated-message", { messageType: "error", includeImage: true }], ["get-structured-content", { location: "Chicago" }],
      ["get-resource-links", { count: 3 }], ["get-roots-list", {}], ["trigger-sampling-request", { prompt: "x" }],
      ["trigger-elicitation-request", {}], ["nothing-such", {}],
    ],
    slow: ["trigger-long-running-operation", { duration: 0.3, steps: 3 }],
    prompts: [["simple-prompt"], ["args-prompt", { city: "Ulm" }], ["args-prompt", {}]],
    resources: ["demo://resource/dynamic/text/1", "demo://nothing"],
    flood: (i) => ["echo", { message: `<${i}>` }],
  },
  filesystem: {
    tookRoots: "Updated allowed directories", // on stderr: it serves calls before it has looked at the roots
    calls: [
      ["write_file", { path: `${root}/a.txt`, content: "one\r\ntwo\u0000\n" }], ["read_text_file", { path: `${root}/a.txt` }],
      ["edit_file", { path: `${root}/a.txt`, edits: [{ oldText: "one", newText: "1" }], dryRun: true }],
      ["create_directory", { path: `${root}/d` }], ["list_directory", { path: root }], ["move_file", { source: `${root}/a.txt`, destination: `${root}/d/b` }],
      ["read_multiple_files", { paths: [`${root}/d/b`, `${root}/none`] }], ["directory_tree", { path: root }],
      ["read_text_file", { path: "/etc/passwd" }], ["list_allowed_directories", {}],
    ],
  },
  memory: {
    calls: [
      ["create_entities", { entities: [{ name: "a", entityType: "t", observations: ["o", "ü"] }, { name: "b", entityType: "t", observations: [] }] }],
      ["create_relations", { relations: [{ from: "a", to: "b", relationType: "r" }] }], ["add_observations", { observations: [{ entityName: "a", contents: ["p"] }] }],
      ["read_graph", {}], ["search_nodes", { query: "A" }], ["open_nodes", { names: ["b"] }], ["delete_entities", { entityNames: ["a"] }], ["read_graph", {}],
    ],
  },
  go: {
    level: "debug",
    asking: ["ping", "sample", "elicit (form)", "roots"],
    calls: ["greet", "greet (structured)", "greet (content with ResourceLink)", "ping", "log", "sample", "elicit (form)", "roots"].map((name) => [name, { name: "ü\u2028\n" }]),
    prompts: [["greet", { name: "x" }]],
    resources: ["embedded:info"],
  },
  paged: {
    calls: [["grow", {}], ["large", { bytes: 200_000 }]],
    resources: ["paged:3"],
    changes: 1,
  },
  sentinel: {
    calls: [["get_top_processes", { count: 0 }], ["terminate_process", { pid: 4194304 }], ["nothing_such", {}]],
    watched: ["get_top_processes", { count: 1 }],
    prompts: [["health-check"], ["nothing"]],
  },
};
const plan = plans[planName];

function once() {
  let done;
  return Object.assign(new Promise((resolve) => (done = resolve)), { happens: () => done() });
}

// Respelt has an SDK of one era speak an older revision of it.
class Respelt extends StdioClientTransport {
  constructor(options, revision) {
    super(options);
    this.revision = revision;
  }
  send(message, ...rest) {
    if (message.method === "initialize") message = { ...message, params: { ...message.params, protocolVersion: this.revision } };
    return super.send(message, ...rest);
  }
}

const answers = {
  "roots/list": () => ({ roots: [{ uri: pathToFileURL(root).href, name: "work" }] }),
  "sampling/createMessage": () => ({ model: "m", role: "assistant", content: { type: "text", text: "sampled" } }),
  "elicitation/create": () => ({ action: "accept", content: planName === "go" ? { random: "ü" } : { name: "ü", integer: 7 } }),
};
const schemas = { "roots/list": "ListRootsRequestSchema", "sampling/createMessage": "CreateMessageRequestSchema", "elicitation/create": "ElicitRequestSchema" };

for (const revision of revisions.split(",")) {
  const said = (step, value) => console.log(JSON.stringify([revision, step, value]));
  const tried = async (step, run) => {
    try {
      said(step, await run());
    } catch (error) {
      said(step, { error: error.message, code: error.code });
    }
  };
  const elicits = split || types.ElicitRequestSchema;
  const capabilities = { roots: { listChanged: true }, sampling: {}, ...(elicits ? { elicitation: {} } : {}) };
  const modern = revision === "2026-07-28" ? { versionNegotiation: { mode: { pin: revision } } } : {};
  const client = new Client({ name: "converse", version: "1" }, { capabilities, ...modern });
  const took = once();
  const logged = { first: once(), again: once() };
  let errors = "";
  let logs = 0;
  let changes = 0;
  for (const [method, answer] of Object.entries(answers)) {
    if (!split && !types[schemas[method]]) continue;
    client.setRequestHandler(split ? method : types[schemas[method]], async () => answer());
  }
  client.fallbackNotificationHandler = async (notification) => {
    if (notification.method.endsWith("list_changed")) changes++;
    if (String(notification.params?.data).includes("Roots updated")) (logs++ ? logged.again : logged.first).happens();
  };
  const transport = new Respelt({ command, args: args.map((a) => a.replaceAll("REVISION", revision)), env: process.env, stderr: "pipe" }, revision);
  transport.stderr.on("data", (text) => (errors += text).includes(plan.tookRoots) && took.happens());
  const call = (name, given, options) => client.callTool({ name, arguments: given }, ...(split ? [options] : [undefined, options]));

  try {
    await client.connect(transport);
  } catch (error) {
    said("connect", { error: error.message, code: error.code });
    await client.close();
    continue;
  }
  const legacy = !modern.versionNegotiation;
  if (plan.logsRoots && legacy) await logged.first;
  if (plan.tookRoots && legacy) await took;
  said("server", { info: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() });

  for (const [kind, list] of [["tools", "listTools"], ["prompts", "listPrompts"], ["resources", "listResources"], ["resourceTemplates", "listResourceTemplates"]]) {
    if (!client.getServerCapabilities()?.[kind === "resourceTemplates" ? "resources" : kind]) continue;
    let cursor;
    do {
      await tried(list, async () => {
        const page = await client[list](cursor ? { cursor } : {});
        cursor = page.nextCursor;
        return page;
      });
    } while (cursor);
  }
  if (plan.level && legacy) await tried("level", () => client.setLoggingLevel(plan.level));
  // Without a handshake this client drops what a server asks, and the call waits for a minute.
  const calls = legacy ? plan.calls : plan.calls.filter(([name]) => !plan.asking?.includes(name));
  for (const [name, given] of calls) await tried(name, () => call(name, given));
  if (plan.watched) {
    await tried("watched", () => call(...plan.watched, { onprogress: (step) => (said("progress", step), writeFile(process.env.GO, "on\n")) }));
  }
  if (plan.slow) {
    const abort = new AbortController();
    await tried("cancelled", () => call(...plan.slow, { signal: abort.signal, onprogress: () => abort.abort() }));
    const steps = []; // the last may be read together with the answer, and is then dropped
    await tried("progress", () => call(...plan.slow, { onprogress: (step) => steps.push(step) }));
    said("steps", steps.slice(0, 1));
  }
  for (const [name, given] of plan.prompts ?? []) await tried(name, () => client.getPrompt({ name, arguments: given }));
  for (const uri of plan.resources ?? []) await tried(uri, () => client.readResource({ uri }));
  if (legacy) await tried("ping", () => client.ping());
  if (plan.logsRoots && legacy) {
    await client.sendRootsListChanged();
    await logged.again;
  }
  if (plan.flood && revision === "2025-11-25" && sdk === "sdk") {
    const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => call(...plan.flood(i))));
    said("right of a thousand", all.filter((result, i) => result.content[0].text.includes(`<${i}>`)).length);
  }
  if (plan.changes) said("changes", changes >= plan.changes);
  await client.close();
}
