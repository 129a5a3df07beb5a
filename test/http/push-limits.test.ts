import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { PUSH_BOUNDS, pushLimitCases } from "../conformance/cases/push-refusals.ts";
import { checkCase, titled } from "../conformance/http-case.ts";
import { acknowledged, refusal } from "../conformance/push-client.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openPushApi } from "./push-api.ts";

describe("limits", () => {
  const gzip = { "content-encoding": "gzip" };
  /** A body in parts of `size` octets, so that no length is declared; counts the parts that were asked for. */
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

  test.each(titled(pushLimitCases))("%s", async (_, entry) => {
    const { fetch } = await openPushApi({ limits: PUSH_BOUNDS });
    await checkCase(fetch, entry);
  });

  test("a declared length over the limit is refused before anything is read", async () => {
    const { put } = await openPushApi({ limits: { sentBytes: 1000 } });
    const { stream, asked } = inParts(new Uint8Array(100_000), 100);
    const headers = { "content-length": "100000" };
    expect(await refusal(put(undefined, { body: () => stream, headers }))).toMatchObject({
      status: 413,
      code: "BODY_TOO_LARGE",
    });
    expect(asked.count).toBeLessThan(5);
  });

  test.each([{}, gzip])("an undeclared length over the limit stops the sender %j", async (headers) => {
    const { put } = await openPushApi({ limits: { sentBytes: 100_000 } });
    const text = Buffer.from(`"${randomBytes(1_000_000).toString("base64")}"`);
    const { stream, asked } = inParts("content-encoding" in headers ? gzipSync(text) : text, 10_000);
    expect(await refusal(put(undefined, { body: () => stream, headers }))).toMatchObject({
      status: 413,
      code: "BODY_TOO_LARGE",
    });
    expect(asked.count).toBeLessThan(25);
  });

  test("of one cluster only so many pushes are read at once, and a renewal is none of them", async () => {
    const { put, send } = await openPushApi({ limits: { pushesPerCluster: 1 } });
    let finish = () => {};
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify(shopSnapshot("west"))));
        finish = () => controller.close();
      },
    });
    const slow = put(undefined, { body: () => stream });
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_PUSHES" });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await send("POST", "west/lease", { body: '{"generation":1}' })).status).toBe(409);
    finish();
    await acknowledged(slow);
    await acknowledged(put());
  });

  test("all bodies together are bounded, and the bound is free again afterwards", async () => {
    const { put, send } = await openPushApi({ limits: { bytesInFlight: 2000 } });
    let finish = () => {};
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(" ".repeat(1900)));
        finish = () => controller.close();
      },
    });
    const slow = put(undefined, { body: () => stream });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const body = JSON.stringify(shopSnapshot("east.eu"));
    const refused = await refusal(send("PUT", "east.eu/snapshot", { token: "east-token", body }));
    expect(refused).toMatchObject({ status: 503, code: "BUSY" });
    expect(refused.headers.get("retry-after")).toBe("5");
    finish();
    expect(await refusal(slow)).toMatchObject({ code: "INVALID_JSON" });
    for (let round = 0; round < 5; round++)
      await acknowledged(send("PUT", "east.eu/snapshot", { token: "east-token", body }));
  });
});
