// A server as plain as servers get: it takes each line as JSON.parse has it, where the last of two
// names counts and case matters, executes what it then reads, and appends that to the file of its
// argument. A call with "answer" in its arguments is answered with these very bytes (base64), one by
// one when it has "slowly" too.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

let said = Promise.resolve();
async function slowly(bytes) {
  for (const byte of bytes) {
    process.stdout.write(Buffer.of(byte));
    await setTimeout(1);
  }
}
const say = (bytes, piecemeal) => (said = said.then(() => (piecemeal ? slowly(bytes) : process.stdout.write(bytes))));
const answer = (id, result) => say(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");

function execute(message) {
  const { id, method, params } = message;
  appendFileSync(process.argv[2], JSON.stringify({ method, name: params?.name ?? "", arguments: JSON.stringify(params?.arguments ?? null) }) + "\n");
  if (params?.arguments?.answer) return say(Buffer.from(params.arguments.answer, "base64"), params.arguments.slowly);
  if (id !== undefined) answer(id, method === "initialize" ? { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: { name: "o", version: "1" } } : { content: [] });
}

createInterface({ input: process.stdin, terminal: false }).on("line", (line) => {
  let read;
  try {
    read = JSON.parse(line);
  } catch {
    return;
  }
  for (const message of Array.isArray(read) ? read : [read]) if (message && typeof message === "object") execute(message);
});
