import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headlessExport, shopSnapshot } from "../snapshot/worlds.ts";
import { type GatewayProcess, startGateway } from "./processes.ts";
import { findProgram } from "./servers/apt.ts";
import { answerOf, queryBytes } from "./servers/dns.ts";

const CONNECTIONS = 100;
const STREAMS = 32;
const LOAD_SECONDS = 20;
const DELTAS = 3;
const NAME = "web.shop.svc.clusterset.local";

let gateway: GatewayProcess;
/** The connections of a worker and of a client, which were there before the load. */
let worker: ClientHttp2Session;
let client: ClientHttp2Session;
beforeAll(async () => {
  // However fast the machine is, this load is overload; and however slow it is, the load's connections are not cut off.
  gateway = await startGateway({
    clusters: ["west"],
    leaseSeconds: 60,
    config: { limits: { loopDelayMilliseconds: 2, handshakeSeconds: 120, requestSeconds: 120 } },
  });
  worker = connect(gateway.url, { ca: gateway.ca });
  client = connect(gateway.url, { ca: gateway.ca });
});
afterAll(async () => {
  worker?.destroy();
  client?.destroy();
  await gateway?.stop();
});

async function request(session: ClientHttp2Session, fields: Record<string, string>, body?: string) {
  const stream = session.request(fields, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const parts: Buffer[] = [];
  stream.on("data", (part) => parts.push(part));
  // Both may come within one read.
  const ended = once(stream, "end");
  const [[headers]] = await Promise.all([once(stream, "response"), ended]);
  return { status: Number(headers[":status"]), body: Buffer.concat(parts) };
}

async function push(method: string, body: object): Promise<number> {
  const authorization = `Bearer ${gateway.tokenFor("west")}`;
  const path = "/api/v1/clusters/west/snapshot";
  const fields = { ":method": method, ":path": path, authorization, "content-type": "application/json" };
  const answer = await request(worker, fields, JSON.stringify(body));
  expect([method, answer.status, answer.body.toString()]).toEqual([method, 200, expect.any(String)]);
  return JSON.parse(answer.body.toString()).generation;
}

const urlOf = (name: string) =>
  `/dns-query?dns=${queryBytes({ name, type: "A", edns: true }, 0).toString("base64url")}`;

test("deltas and snapshots are acknowledged and answered while queries overload the gateway", async () => {
  expect(findProgram("h2load")).toBeDefined();
  let generation = await push("PUT", shopSnapshot("west"));
  const load = spawn(
    "h2load",
    [
      ...["-c", String(CONNECTIONS), "-m", String(STREAMS), "-D", String(LOAD_SECONDS)],
      ...["-H", "accept: application/dns-message", gateway.url + urlOf(NAME)],
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  try {
    let output = "";
    const over = once(load, "close");
    const started = new Promise<void>((resolve) =>
      load.stdout.on("data", (part) => {
        output += part;
        if (output.includes("100% of clients started")) resolve();
      }),
    );
    await Promise.race([started, over]);
    // What can wait has to: so the gateway is overloaded.
    let page = await request(client, { ":path": "/" });
    while (page.status !== 503 && load.exitCode === null) page = await request(client, { ":path": "/" });
    expect(page.status).toBe(503);
    for (let delta = 0; delta < DELTAS; delta++) {
      const name = `more-${delta}.shop.svc.clusterset.local`;
      const patch = { exports: { [`shop/more-${delta}`]: headlessExport(1) } };
      generation = await push("PATCH", { baseGeneration: generation, patch });
      const { body } = await request(client, { ":path": urlOf(name), accept: "application/dns-message" });
      expect(answerOf(body).rcode).toBe("NOERROR");
      expect(load.exitCode, "the load was over before the delta was answered").toBeNull();
    }
    await push("PUT", shopSnapshot("west"));
    expect(load.exitCode, "the load was over before the snapshot was answered").toBeNull();
  } finally {
    load.kill();
  }
});
