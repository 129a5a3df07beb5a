import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { PushLimits } from "../../../src/http/push/bodies.ts";
import type { Limit } from "../../../src/limits/counters.ts";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { headerLine, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { halfBody } from "./half-body.ts";
import { openPushApi } from "./push-api.ts";

describe("limits", () => {
  const gzip = { "content-encoding": "gzip" };
  /** A body in parts of `size` bytes, so that no length is declared; counts the parts that were asked for. */
  function inParts(bytes: Uint8Array, size: number) {
    const asked = { count: 0 };
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const start = asked.count++ * size;
        if (start < bytes.length) controller.enqueue(bytes.subarray(start, start + size));
        else controller.close();
      },
    });
    return { stream, asked };
  }
  test.each([{}, gzip])("an undeclared length over the limit stops the sender %j", async (headers) => {
    const { put } = await openPushApi({ limits: { pushSentBytes: 100_000 } });
    const text = Buffer.from(`"${randomBytes(1_000_000).toString("base64")}"`);
    const { stream, asked } = inParts("content-encoding" in headers ? gzipSync(text) : text, 10_000);
    expect(await refusal(put(undefined, { body: () => stream, headers }))).toMatchObject({
      status: 413,
      code: "BODY_TOO_LARGE",
    });
    expect(asked.count).toBeLessThan(25);
  });

  test("of one cluster only so many pushes are read at once, and a renewal is none of them", async () => {
    const { put, send } = await openPushApi({ limits: { pushesInFlight: 1 } });
    const body = halfBody();
    const slow = put(undefined, { body: () => body.stream });
    // Tokens are hashed on other threads: the second push could come first.
    await body.send(new TextDecoder().decode(snapshotBody(shopSnapshot("west"))));
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_PUSHES" });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await send("POST", "west/lease", { body: '{"generation":1}' })).status).toBe(409);
    body.end();
    await acknowledged(slow);
    await acknowledged(put());
  });

  // Four values a line, in about 16 bytes; the key is wrong.
  const listOf = (count: number) =>
    sealed(headerLine("west"), ...Array.from({ length: count }, () => '["pods","x",{}]'));
  const deep = (levels: number) => sealed(headerLine("west"), `["pods","a/b",${"[".repeat(levels)}`);
  const refusedFor: [string, Partial<PushLimits>, string, number, string, Limit][] = [
    ["deep JSON", {}, deep(1_000_000), 400, "JSON_TOO_DEEP", "limits.pushLevels"],
    ["deep JSON of another limit", { pushLevels: 3 }, deep(3), 400, "JSON_TOO_DEEP", "limits.pushLevels"],
    ["too many values", { pushValues: 1000 }, listOf(260), 413, "TOO_MANY_VALUES", "limits.pushValues"],
    ["too long", { pushSentBytes: 100 }, listOf(100), 413, "BODY_TOO_LARGE", "limits.pushSentBytes"],
    ["too long inside", { pushBytes: 100 }, listOf(100), 413, "BODY_TOO_LARGE", "limits.pushBytes"],
    [
      "no room",
      { pushBytesInFlight: 100, pushSmallBytes: 10 },
      listOf(100),
      503,
      "BUSY",
      "limits.pushBytesInFlight",
    ],
  ];
  test.each(refusedFor)("%s is rejected and counted", async (_, limits, body, status, code, limit) => {
    const { put, limitCounters } = await openPushApi({ limits });
    expect(await refusal(put(undefined, { body }))).toMatchObject({ status, code });
    expect([...limitCounters].filter(([, count]) => count > 0)).toEqual([[limit, 1]]);
  });

  const many = (count: number, entry: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`shop/n${index}`, entry]));
  test.each<[string, object, string, Limit]>([
    ["exports", headlessExport(0), "TOO_MANY_EXPORTS", "limits.exports"],
    [
      "findings",
      { reason: "NoService", kind: "ServiceExport", name: "web", message: "there is no Service" },
      "TOO_MANY_FINDINGS",
      "limits.findings",
    ],
  ])(
    "more %s than a cluster may have are rejected with 413 and counted",
    async (table, entry, code, limit) => {
      const { put, limitCounters } = await openPushApi();
      const snapshot = { ...shopSnapshot("west"), [table]: many(12_001, entry) };
      expect(await refusal(put(snapshot))).toMatchObject({
        status: 413,
        code,
        message: expect.stringContaining(`(${limit})`),
      });
      expect([...limitCounters].filter(([, count]) => count > 0)).toEqual([[limit, 1]]);
      await acknowledged(put({ ...shopSnapshot("west"), [table]: many(12_000, entry) }));
    },
  );

  test("of one cluster only so many requests are taken, and others are not kept out by it", async () => {
    const { put, send, limitCounters } = await openPushApi({
      limits: { pushesPerSecond: 0.01, pushBurst: 2 },
    });
    await acknowledged(put());
    expect((await send("POST", "west/lease", { body: '{"generation":1}' })).status).toBe(409);
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_REQUESTS" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(limitCounters.get("limits.pushesPerSecond")).toBe(1);
    const body = snapshotBody(shopSnapshot("east.eu"));
    await acknowledged(send("PUT", "east.eu/snapshot", { token: "east-token", body }));
    // Nobody without its token takes anything of it.
    expect((await send("PUT", "east.eu/snapshot", { token: "west-token", body })).status).toBe(403);
    await acknowledged(send("PUT", "east.eu/snapshot", { token: "east-token", body }));
  });

  test("of one cluster only so much is parsed, deltas and snapshots together", async () => {
    const { put, limitCounters } = await openPushApi({
      limits: { pushValues: 1000, pushValuesPerSecond: 1 },
    });
    for (let round = 0; round < 2; round++)
      expect(await refusal(put(undefined, { body: listOf(225) }))).toMatchObject({
        code: "INVALID_SNAPSHOT",
      });
    const refused = await refusal(put(undefined, { body: listOf(225) }));
    expect(refused).toMatchObject({ status: 429, code: "TOO_MUCH_WORK" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(500);
    expect(limitCounters.get("limits.pushValuesPerSecond")).toBe(1);
    expect(limitCounters.get("limits.pushValues")).toBe(0);
  });

  test("a snapshot in which all is wrong is not read to its end", async () => {
    const entries = Array.from({ length: 200_000 }, (_, index) => `["exports","a/b${index}",{"x":1}]`);
    const body = sealed(headerLine("west"), entries);
    const { put } = await openPushApi();
    const response = await put(undefined, { body });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ details: { total: 1000 } });
  });
});
