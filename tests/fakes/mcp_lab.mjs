// An MCP server on standard input and output whose tools do what tests need: echo, fail, refuse, crash, run a program.
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";

const object = { type: "object", properties: {} };
const tools = [
  ["echo", "Gives its text back", { type: "object", properties: { text: { type: "string" } } }],
  ["fail", "Says that it failed", object],
  ["refuse", "Answers with a protocol error", object],
  ["crash", "Dies", object],
  ["run", "Runs a program", { type: "object", properties: { argv: { type: "array", items: { type: "string" } } } }],
].map(([name, description, inputSchema]) => ({ name, description, inputSchema }));

const said = (text, isError = false) => ({ content: [{ type: "text", text }], isError });

function called(name, given) {
  switch (name) {
    case "echo": return said(given.text ?? "");
    case "fail": return said("failed on purpose", true);
    case "crash": process.exit(3);
    case "run": {
      const [program, ...words] = given.argv;
      const { stdout, stderr, status } = spawnSync(program, words, { encoding: "utf8" });
      return said(`${stdout}${stderr}exit ${status}`, status !== 0);
    }
    default: throw new Error(`refused: ${name}`);
  }
}

function answered({ method, params }) {
  switch (method) {
    case "initialize": return {
      protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "lab", version: "1.0.0" },
    };
    case "tools/list": return { tools };
    case "tools/call": return called(params.name, params.arguments ?? {});
    default: return {};
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  if (request.id === undefined) return;
  const answer = { jsonrpc: "2.0", id: request.id };
  try {
    answer.result = answered(request);
  } catch (error) {
    answer.error = { code: -32000, message: error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
});
