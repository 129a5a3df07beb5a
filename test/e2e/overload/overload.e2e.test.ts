import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TEST_DEADLINE } from "../../deadline.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { Connection } from "../harness/connections.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { answerOf, queryBytes } from "../servers/dns.ts";
import { ensureTool } from "../servers/tools/tools.ts";

const CONNECTIONS = 100;
const STREAMS = 32;
/** The load does not end before the test. */
const LOAD_SECONDS = TEST_DEADLINE / 1000;
const DELTAS = 3;
const NAME = "web.shop.svc.clusterset.local";

let gateway: GatewayProcess;
/** The connections of a worker and of a client, which were there before the load. */
let worker: Connection;
let client: Connection;
beforeAll(async () => {
  // However fast the machine is, this load is overload; and however slow it is, the load's connections are
  // not cut off.
  gateway = await startGateway({
    clusters: ["west"],
    leaseSeconds: 600,
    config: { limits: { loopDelayMilliseconds: 2, handshakeSeconds: 120, requestSeconds: 120 } },
  });
  worker = await Connection.open(gateway);
  client = await Connection.open(gateway);
});
afterAll(async () => {
  worker?.close();
  client?.close();
  await gateway?.stop();
});

async function push(method: string, body: object): Promise<number> {
  const authorization = `Bearer ${gateway.tokenFor("west")}`;
  const [path, sent] = pushed(method, "/api/v1/clusters/west/snapshot", body, { authorization });
  const answer = await worker.get(path, { ":method": method, ...sent.headers }, sent.body);
  expect([method, answer.status, answer.body.toString()]).toEqual([method, 200, expect.any(String)]);
  return JSON.parse(answer.body.toString()).generation;
}

const urlOf = (name: string) =>
  `/dns-query?dns=${queryBytes({ name, type: "A", edns: true }, 0).toString("base64url")}`;

const askFor = async (name: string) =>
  answerOf((await client.get(urlOf(name), { accept: "application/dns-message" })).body);

test("deltas and snapshots are acknowledged and answered while queries overload the gateway", async () => {
  let generation = await push("PUT", shopSnapshot("west"));
  await ensureTool("h2load");
  const counts = ["-c", String(CONNECTIONS), "-m", String(STREAMS), "-D", String(LOAD_SECONDS)];
  const args = [...counts, "-H", "accept: application/dns-message", gateway.url + urlOf(NAME)];
  const load = spawn("h2load", args, { stdio: ["ignore", "pipe", "inherit"] });
  const over = once(load, "close");
  const stillLoaded = (what: string) => expect(load.exitCode, `the load was over before ${what}`).toBeNull();
  try {
    let output = "";
    const started = new Promise<void>((resolve) =>
      load.stdout.on("data", (part) => {
        output += part;
        if (output.includes("100% of clients started")) resolve();
      }),
    );
    await Promise.race([started, over]);
    // What can wait has to: so the gateway is overloaded.
    let page = await client.get("/");
    while (page.status !== 503 && load.exitCode === null) page = await client.get("/");
    expect(page.status).toBe(503);
    for (let delta = 0; delta < DELTAS; delta++) {
      const patch = { exports: { [`shop/more-${delta}`]: headlessExport(1) } };
      generation = await push("PATCH", { baseGeneration: generation, patch });
      expect((await askFor(`more-${delta}.shop.svc.clusterset.local`)).rcode).toBe("NOERROR");
      stillLoaded("the delta was answered");
    }
    await push("PUT", shopSnapshot("west"));
    stillLoaded("the snapshot was answered");
  } finally {
    load.kill();
    await over;
  }
});
