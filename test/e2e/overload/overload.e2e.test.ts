import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TEST_DEADLINE } from "../../deadline.ts";
import { extendedErrors } from "../../forward/fake-forwarder.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { eventually } from "../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { answerOf, queryBytes } from "../servers/dns.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { HeldUpDisk } from "./held-up-disk.ts";

const CONNECTIONS = 100;
const STREAMS = 32;
/** The load does not end before the test. */
const LOAD_SECONDS = TEST_DEADLINE / 1000;
const DELTAS = 3;
/** RFC 8914 section 4.4. */
const STALE_ANSWER = 3;
const NAME = "web.shop.svc.clusterset.local";

const disk = new HeldUpDisk();
let gateway: GatewayProcess;
/** The connections of a worker and of a client, which were there before the load. */
let worker: ClientHttp2Session;
let client: ClientHttp2Session;
beforeAll(async () => {
  // However fast the machine is, this load is overload; and however slow it is, the load's connections are
  // not cut off.
  gateway = await startGateway({
    clusters: ["west"],
    leaseSeconds: 600,
    env: disk.env,
    config: {
      limits: { pushDelaySeconds: 1, loopDelayMilliseconds: 2, handshakeSeconds: 120, requestSeconds: 120 },
    },
  });
  worker = connect(gateway.url, { ca: gateway.ca });
  client = connect(gateway.url, { ca: gateway.ca });
});
afterAll(async () => {
  disk.goOn();
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
  const [path, sent] = pushed(method, "/api/v1/clusters/west/snapshot", body, { authorization });
  const fields = { ":method": method, ":path": path, ...sent.headers };
  const answer = await request(worker, fields, sent.body.toString());
  expect([method, answer.status, answer.body.toString()]).toEqual([method, 200, expect.any(String)]);
  return JSON.parse(answer.body.toString()).generation;
}

const urlOf = (name: string) =>
  `/dns-query?dns=${queryBytes({ name, type: "A", edns: true }, 0).toString("base64url")}`;

/** Overloads the gateway while `act` runs, and fails if the load ends before. */
async function underOverload(act: (stillLoaded: (what: string) => void) => Promise<void>): Promise<void> {
  await ensureTool("h2load");
  const load = spawn(
    "h2load",
    [
      "-c",
      String(CONNECTIONS),
      "-m",
      String(STREAMS),
      "-D",
      String(LOAD_SECONDS),
      "-H",
      "accept: application/dns-message",
      gateway.url + urlOf(NAME),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const over = once(load, "close");
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
    let page = await request(client, { ":path": "/" });
    while (page.status !== 503 && load.exitCode === null) page = await request(client, { ":path": "/" });
    expect(page.status).toBe(503);
    await act((what) => expect(load.exitCode, `the load was over before ${what}`).toBeNull());
  } finally {
    load.kill();
    await over;
  }
}

const askFor = async (name: string) =>
  answerOf((await request(client, { ":path": urlOf(name), accept: "application/dns-message" })).body);
const addMore = (count: number) => ({ exports: { [`shop/more-${count}`]: headlessExport(1) } });

test("deltas and snapshots are acknowledged and answered while queries overload the gateway", async () => {
  let generation = await push("PUT", shopSnapshot("west"));
  await underOverload(async (stillLoaded) => {
    for (let delta = 0; delta < DELTAS; delta++) {
      generation = await push("PATCH", { baseGeneration: generation, patch: addMore(delta) });
      expect((await askFor(`more-${delta}.shop.svc.clusterset.local`)).rcode).toBe("NOERROR");
      stillLoaded("the delta was answered");
    }
    await push("PUT", shopSnapshot("west"));
    stillLoaded("the snapshot was answered");
  });
});

test("while the disk holds a delta up under overload, answers say that they are stale (EDE 3), and no longer once they have it", async () => {
  const generation = await push("PUT", shopSnapshot("west"));
  await underOverload(async (stillLoaded) => {
    disk.holdUp();
    let isAcknowledged = false;
    const pushed = push("PATCH", { baseGeneration: generation, patch: addMore(0) }).then(() => {
      isAcknowledged = true;
    });
    const held = async () => {
      const { rcode, message } = await askFor(NAME);
      const [opt] = (message.additionals ?? []).filter((record) => record.type === "OPT");
      return { rcode, errors: extendedErrors(opt?.options), isAcknowledged };
    };
    await eventually(held).toEqual({ rcode: "NOERROR", errors: [STALE_ANSWER], isAcknowledged: false });
    stillLoaded("answers said that they were stale");
    disk.goOn();
    await pushed;
    await eventually(held).toEqual({ rcode: "NOERROR", errors: [], isAcknowledged: true });
    expect((await askFor("more-0.shop.svc.clusterset.local")).rcode).toBe("NOERROR");
  });
});
