// What other gateways fail at, with the official TypeScript SDK as the client. Arguments: what to
// try, and the command of a server. Prints "ok" when it held.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [what, command, ...args] = process.argv.slice(2);

// Respelt writes a call in another spelling, as a hostile client does.
class Respelt extends StdioClientTransport {
  respell = (line) => line;
  async send(message) {
    const line = this.respell(JSON.stringify(message));
    this._process.stdin.write(line + "\n");
  }
}

const client = new Client({ name: "known", version: "1" });
const transport = new Respelt({ command, args, env: process.env, stderr: "ignore", maxBufferSize: 64 << 20 }); // 10 MB without that

// refused calls a tool in another spelling, and holds that the guard has answered and the session lives.
async function refused(from, to) {
  transport.respell = (line) => line.replace(from, to);
  const result = await client.callTool({ name: "echo", arguments: { message: "x" } });
  transport.respell = (line) => line;
  assert.equal(result.isError, true);
  assert.equal(result._meta.code, "MESSAGE_MALFORMED");
  assert.ok(result.content[0].text.length > 20);
  await client.ping();
}

const trials = {
  async large() {
    await client.connect(transport);
    for (const bytes of [12_000_000, 40_000_000]) {
      const result = await client.callTool({ name: "large", arguments: { bytes } }, undefined, { timeout: 600_000 });
      assert.equal(result.content[0].text.length, bytes);
      assert.equal(createHash("sha256").update(result.content[0].text).digest("hex"), result._meta.digest);
    }
    await client.ping();
  },
  async name() {
    await client.connect(transport);
    await refused('"name":"echo"', '"name":"echo","Name":"get-env"');
    await refused('"name":"echo"', '"Name":"get-env","name":"echo"');
    await refused('"params":', '"Params":{"name":"get-env","arguments":{}},"params":');
  },
  async duplicate() {
    await client.connect(transport);
    await refused('"name":"echo"', '"name":"get-env","name":"echo"');
    await refused('"message":"x"', '"message":"x","message":"y"');
    await refused('"name":"echo"', '"name":"echo","na\\u006de":"get-env"');
  },
  async broken() {
    await assert.rejects(client.connect(transport)); // and does not hang
  },
};
await trials[what]();
await client.close();
console.log("ok");
