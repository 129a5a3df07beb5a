import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AcknowledgementResponse } from "../../../src/http/openapi/schemas.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { eventualAnswer, eventually } from "../harness/answers.ts";
import type { HttpAnswer } from "../harness/gateway-client.ts";
import { sendHalf } from "./harness/cut-request.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

/** Pushes of one cluster that the object takes at the same time. */
const MOST_AT_ONCE = 2;
const ROUNDS = 20;
/** The status of the proxy of `wrangler dev` where it has lost the answer (harness/dev-process.ts). */
const LOST = 500;

describe("interrupted and concurrent pushes to the Worker", () => {
  let worker: WorkerProcess;

  beforeAll(async () => {
    worker = await startWorker({ clusters: ["west", "east"] });
  });

  afterAll(() => worker?.stop());

  const headersOf = (clusterId: string) => ({
    authorization: `Bearer ${worker.tokenFor(clusterId)}`,
  });
  const pathOf = (clusterId: string) => `/api/v1/clusters/${clusterId}/snapshot?leaseSeconds=600`;
  const send = (method: string, clusterId: string, body: object): Promise<HttpAnswer> =>
    worker.http(...pushed(method, pathOf(clusterId), body, headersOf(clusterId)));
  const generationIn = (answer: HttpAnswer): number =>
    AcknowledgementResponse.parse(answer.json()).generation;
  /** Adds an endpoint to `shop/web`. */
  const adding = (address: string) => ({
    exports: { "shop/web": { endpoints: { "http/TCP/8080": { members: { [address]: { address } } } } } },
  });
  const rows = () => worker.sql("SELECT key, kind, cluster, name, part, sum FROM entry");

  /** What west is answered with and kept as. */
  let generation: number;

  beforeEach(async () => {
    await worker.http("/api/v1/clusters/east", { method: "DELETE", headers: headersOf("east") });
    generation = generationIn(await send("PUT", "west", shopSnapshot("west", 2)));
    await eventualAnswer(worker, "web.shop").toEqual(["10.0.0.0", "10.0.0.1"]);
    // Its lines come later than its answers.
    await eventually(() => worker.events("audit").at(-1)).toMatchObject({ action: "push", generation });
  });

  test.each([
    ["PUT", "length", "closed", "plain"],
    ["PUT", "chunks", "reset", "gzip"],
    ["PATCH", "length", "reset", "plain"],
  ] as const)(
    "a %s by %s that is %s in the middle, in %s: nothing changes, and the next push is taken",
    async (method, framing, how, coding) => {
      const before = { rows: await rows(), pushed: worker.events("pushed").length };
      const members = Object.fromEntries(
        Array.from({ length: 5000 }, (_, index) => `10.9.${index >> 8}.${index & 255}`).map((address) => [
          address,
          { address },
        ]),
      );
      const whole =
        method === "PUT"
          ? shopSnapshot("west", 5000)
          : {
              baseGeneration: generation,
              patch: { exports: { "shop/web": { endpoints: { "http/TCP/8080": { members } } } } },
            };
      const fields = { ...headersOf("west"), ...(coding === "gzip" && { "content-encoding": "gzip" }) };
      const [path, { headers, body }] = pushed(method, pathOf("west"), whole, fields);
      const request = { method, framing, path, headers, body: coding === "gzip" ? gzipSync(body) : body };
      // Whichever comes last is refused, and the others are being read then. A push that asks whether they
      // are would take a place.
      const halves = await Promise.all(
        Array.from({ length: MOST_AT_ONCE + 1 }, () => sendHalf(worker.url, request)),
      );
      let refused = await Promise.race(halves.map(({ answered }) => answered));
      while (refused === LOST) {
        const another = await sendHalf(worker.url, request);
        halves.push(another);
        refused = await another.answered;
      }
      await Promise.all(halves.map((one) => one.cut(how)));
      expect(refused).toBe(429);
      // A delta that does not fit is refused with 409, and with 429 while too many pushes are read.
      const probe = async () =>
        (await send("PATCH", "west", { baseGeneration: 1, patch: adding("10.9.9.9") })).status;
      await eventually(probe).toBe(409);
      expect({ rows: await rows(), pushed: worker.events("pushed").length }).toEqual(before);
      expect(await worker.clusterStatus("west")).toMatchObject({ generation, live: true });

      const next = await send("PATCH", "west", { baseGeneration: generation, patch: adding("10.0.0.9") });
      expect(next.status).toBe(200);
      await eventualAnswer(worker, "web.shop").toEqual(["10.0.0.0", "10.0.0.1", "10.0.0.9"]);
    },
  );

  test("concurrent snapshots and deltas of two clusters are all applied", async () => {
    const [west, east] = await Promise.all(
      ["west", "east"].map(async (clusterId) => {
        let base = generationIn(await send("PUT", clusterId, shopSnapshot(clusterId, 1)));
        for (let round = 1; round <= ROUNDS; round++) {
          const address = `10.${clusterId === "west" ? 1 : 2}.0.${round}`;
          base = generationIn(
            await send("PATCH", clusterId, { baseGeneration: base, patch: adding(address) }),
          );
        }
        return base;
      }),
    );
    const all = ["10.0.0.0"];
    for (const net of [1, 2]) for (let round = 1; round <= ROUNDS; round++) all.push(`10.${net}.0.${round}`);
    await eventualAnswer(worker, "web.shop").toEqual(all.sort());
    expect(await worker.clusterStatus("west")).toMatchObject({ generation: west });
    expect(await worker.clusterStatus("east")).toMatchObject({ generation: east });
    await worker.kill();
    await worker.restart();
    await eventualAnswer(worker, "web.shop").toEqual(all);
  });

  test("the audit log has those that the Worker rejects, and those that the object answers, with the client's address", async () => {
    const lines = () => worker.events("audit");
    const before = lines().length;
    const stranger = { ...headersOf("west"), authorization: "Bearer stranger" };
    await worker.http(pathOf("west"), { method: "PUT", headers: stranger, body: "{}" });
    await send("PATCH", "west", { baseGeneration: 1, patch: {} });
    await send("PUT", "west", shopSnapshot("west", 3));
    const client = expect.stringMatching(/./);
    const credential = expect.stringMatching(/^push\.credentials\[\d+\]$/);
    const line = { audit: true, cluster: "west", client };
    await eventually(() => lines().slice(before)).toMatchObject([
      { ...line, action: "forward", outcome: "refused", status: 401, code: "UNKNOWN_TOKEN" },
      { ...line, action: "patch", outcome: "refused", status: 409, credential },
      { ...line, action: "push", outcome: "accepted", status: 200, credential },
    ]);
    expect(worker.log()).not.toContain(worker.tokenFor("west"));
  });
});
