// A server whose lists have pages, which changes its list of tools, and whose results are as large
// as one asks for.
import { createHash } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema, ListPromptsRequestSchema, ListResourcesRequestSchema, ListResourceTemplatesRequestSchema, ListToolsRequestSchema, ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const server = new Server({ name: "paged", version: "1" }, { capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} } });
const tools = ["large", "grow", "a", "b", "c"].map((name) => ({ name, description: `${name} "tool"`, inputSchema: { type: "object" } }));

// page returns two of a list, from the place that the cursor names.
function page(key, all, cursor) {
  const from = cursor ? Number(Buffer.from(cursor, "base64")) : 0;
  const rest = from + 2 < all.length ? { nextCursor: Buffer.from(String(from + 2)).toString("base64") } : {};
  return { [key]: all.slice(from, from + 2), ...rest };
}

const resources = [1, 2, 3].map((n) => ({ uri: `paged:${n}`, name: `${n}` }));
server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page("tools", tools, params?.cursor));
server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => page("prompts", [{ name: "p" }, { name: "q" }, { name: "r" }], params?.cursor));
server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => page("resources", resources, params?.cursor));
server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [] }));
server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [{ uri: params.uri, text: params.uri }] }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  if (params.name === "grow") {
    tools.push({ name: `d${tools.length}`, inputSchema: { type: "object" } });
    await server.sendToolListChanged();
    return { content: [{ type: "text", text: "grown" }] };
  }
  const text = "xyz\n".repeat(params.arguments.bytes / 4);
  return { content: [{ type: "text", text }], _meta: { digest: createHash("sha256").update(text).digest("hex") } };
});
await server.connect(new StdioServerTransport());
