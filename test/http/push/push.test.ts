import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import type { PushLimits } from "../../../src/http/push/bodies.ts";
import type { Limit } from "../../../src/limits/counters.ts";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { memoryDatabase } from "../../gateway/open-keyed.ts";
import { headerLine, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { halfBody, openPushApi } from "./push-api.ts";

describe("limits", () => {
  test.each([{}, { "content-encoding": "gzip" }])(
    "an undeclared length over the limit stops the sender %j",
    async (headers) => {
      const { put } = await openPushApi({ limits: { pushSentBytes: 100_000 } });
      const text = Buffer.from(`"${randomBytes(1_000_000).toString("base64")}"`);
      const bytes = "content-encoding" in headers ? gzipSync(text) : text;
      let parts = 0;
      const body = ReadableStream.from(
        (function* () {
          for (; parts * 10_000 < bytes.length; parts++)
            yield bytes.subarray(parts * 10_000, parts * 10_000 + 10_000);
        })(),
      );
      const refused = await refusal(put(undefined, { body: () => body, headers }));
      expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
      expect(parts).toBeLessThan(25);
    },
  );

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
    ["deep JSON", { pushLevels: 3 }, deep(3), 400, "JSON_TOO_DEEP", "limits.pushLevels"],
    ["too many values", { pushValues: 1000 }, listOf(260), 413, "TOO_MANY_VALUES", "limits.pushValues"],
    ["too long", { pushSentBytes: 100 }, listOf(100), 413, "BODY_TOO_LARGE", "limits.pushSentBytes"],
    ["too long inside", { pushBytes: 100 }, listOf(100), 413, "BODY_TOO_LARGE", "limits.pushBytes"],
    [
      "no room",
      { pushBytesInFlight: 9, pushSmallBytes: 9 },
      listOf(99),
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

  test("more entries than a cluster may have are rejected with 413 and counted", async () => {
    const { put, limitCounters } = await openPushApi();
    const exports = (count: number) => {
      const keys = Array.from({ length: count }, (_, index) => `shop/n${index}`);
      return {
        ...shopSnapshot("west"),
        exports: Object.fromEntries(keys.map((key) => [key, headlessExport(0)])),
      };
    };
    const message = expect.stringContaining("(limits.exports)");
    expect(await refusal(put(exports(12_001)))).toMatchObject({
      status: 413,
      code: "TOO_MANY_EXPORTS",
      message,
    });
    expect([...limitCounters].filter(([, count]) => count > 0)).toEqual([["limits.exports", 1]]);
    await acknowledged(put(exports(12_000)));
  });

  test("a renewal above 4 KiB is rejected with 413, and counts as no limit on pushes", async () => {
    const { send, limitCounters } = await openPushApi();
    const body = JSON.stringify({ generation: 1, more: "x".repeat(4096) });
    const refused = await refusal(send("POST", "west/lease", { body }));
    expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    expect([...limitCounters].filter(([, count]) => count > 0)).toEqual([]);
  });

  test("of one cluster only so many requests are taken, and others are not kept out by it", async () => {
    const limits = { pushesPerSecond: 0.01, pushBurst: 2 };
    const { put, send, limitCounters } = await openPushApi({ limits });
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
    const limits = { pushValues: 1000, pushValuesPerSecond: 1 };
    const { put, limitCounters } = await openPushApi({ limits });
    const body = listOf(225);
    for (let round = 0; round < 2; round++)
      expect(await refusal(put(undefined, { body }))).toMatchObject({ code: "INVALID_SNAPSHOT" });
    const refused = await refusal(put(undefined, { body }));
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

test("a patch or a renewal of a cluster with a damaged row is 409, so that the worker sends a full snapshot", async () => {
  const database = memoryDatabase();
  const { put, patch, send, errors } = openPushApi({ database });
  const expected = { status: 409, code: "GENERATION_MISMATCH", currentGeneration: null };
  const unready = { endpoints: { "http/TCP/8080": { members: { "10.0.0.1": { ready: false } } } } };
  const { generation } = await acknowledged(put());
  database.exec("UPDATE entry SET text = '{}' WHERE name = 'shop/web'");
  expect(await refusal(patch(generation, { exports: { "shop/web": unready } }))).toMatchObject(expected);
  const body = JSON.stringify({ generation });
  expect(await refusal(send("POST", "west/lease", { body }))).toMatchObject(expected);
  expect(errors).toEqual([]);
  const next = await acknowledged(put());
  await acknowledged(patch(next.generation, { exports: { "shop/web": unready } }));
});

test("a status has no counts of conflicts and findings while they are not known", async () => {
  const { put, send, gateway } = openPushApi({});
  await acknowledged(put());
  gateway.everything.survey = async () => undefined;
  const unknown = { conflictCount: null, conflicts: null, findingCount: null, findings: null };
  expect(await (await send("GET", "west")).json()).toMatchObject({ clusterId: "west", ...unknown });
});

test("failures that nobody foresaw become a 500 that says nothing about them, and are reported", async () => {
  const failure = new Error("disk full at /secret/path");
  const { put, errors, gateway } = openPushApi();
  vi.spyOn(gateway, "push").mockRejectedValue(failure);
  const refused = await refusal(put());
  expect(refused).toMatchObject({ status: 500, code: "INTERNAL" });
  expect(JSON.stringify(refused)).not.toContain("secret");
  expect(errors).toEqual([failure]);
});
