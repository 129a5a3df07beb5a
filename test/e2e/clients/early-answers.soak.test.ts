import { join } from "node:path";
import { Agent, type Dispatcher, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../harness/cli.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { ensureTool } from "../servers/tools/tools.ts";

const at = (name: string) => join(import.meta.dirname, name);
const MIB = 1024 * 1024;
/** Requests that are answered before their bodies were sent. */
const EARLY: readonly (readonly [string, string, number])[] = [
  ["POST", "/dns-query", 413],
  ["PUT", "/api/v1/clusters/cluster-a/snapshot", 401],
  ["POST", "/", 405],
  ["POST", "/nothing/here", 404],
];

let gateway: GatewayProcess;
let dnspython: string;
beforeAll(async () => {
  dnspython = await ensureTool("dnspython");
  gateway = await startGateway({ clusters: ["cluster-a"] });
});
afterAll(() => gateway?.stop());

const requests = () => EARLY.flatMap(([method, path]) => [method, gateway.url + path]);
const statuses = EARLY.map(([, , status]) => status);
const printed = (text: string) => text.trim().split("\n").map(Number);

describe.each([3 * MIB, 20 * MIB])("a body of %i bytes that is answered early", (length) => {
  test.each([
    ["Java's HttpClient", "HTTP_1_1"],
    ["Java's HttpClient", "HTTP_2"],
    ["httpx", "1"],
    ["httpx", "2"],
  ])("%s sees the answer: %s", async (client, version) => {
    const python = ["env", `PYTHONPATH=${dnspython}`, "python3", at("early_answers.py")];
    const line = client === "httpx" ? python : ["java", at("EarlyAnswers.java")];
    const [command, ...args] = [...line, gateway.caFile, version, String(length), ...requests()];
    const { stdout, stderr } = await runProgram(command!, args);
    expect([printed(stdout), stderr]).toEqual([statuses, ""]);
  });
});

// Node's HTTP/2 client holds what it has not sent yet against a bound of 10 MB for each connection.
test.each([
  [3 * MIB, false],
  [20 * MIB, false],
  [3 * MIB, true],
] as const)("undici sees the early answer to a body of %i bytes: HTTP/2 %s", async (length, allowH2) => {
  const seen = [];
  for (const [method, path] of EARLY) {
    const dispatcher = new Agent({ allowH2, connect: { ca: gateway.ca } });
    const headers = { "content-type": "application/dns-message" };
    const sent = {
      method: method as Dispatcher.HttpMethod,
      dispatcher,
      headers,
      body: Buffer.alloc(length),
    };
    const { statusCode, body } = await request(gateway.url + path, sent);
    await body.dump();
    seen.push(statusCode);
    await dispatcher.destroy();
  }
  expect(seen).toEqual(statuses);
});
