import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { acknowledged, type Body, openPushApi, refusal } from "./push-api.ts";

describe("bodies", () => {
  const text = JSON.stringify(shopSnapshot("west", 50));
  const gzip = { "content-encoding": "gzip" };

  test("are taken compressed by gzip", async () => {
    const { put } = await openPushApi();
    await acknowledged(put(undefined, { body: gzipSync(text), headers: gzip }));
  });

  test.each<[string, Body, Record<string, string>, number, string]>([
    ["another type", text, { "content-type": "text/plain" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    [
      "another charset",
      text,
      { "content-type": "application/json; charset=latin1" },
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    ["another encoding", text, { "content-encoding": "br" }, 415, "UNSUPPORTED_ENCODING"],
    ["two encodings", text, { "content-encoding": "gzip, gzip" }, 415, "UNSUPPORTED_ENCODING"],
    ["no gzip under that name", text, gzip, 400, "INVALID_GZIP"],
    ["cut gzip", gzipSync(text).subarray(0, 100), gzip, 400, "INVALID_GZIP"],
    [
      "octets after the gzip",
      Buffer.concat([gzipSync(text), Buffer.from("more")]),
      gzip,
      400,
      "INVALID_GZIP",
    ],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), {}, 400, "INVALID_UTF8"],
    ["UTF-8 cut in a character", Buffer.from([0x22, 0xc3]), {}, 400, "INVALID_UTF8"],
    ["no JSON", '{"formatVersion": 1,}', {}, 400, "INVALID_JSON"],
    ["nothing", "", {}, 400, "INVALID_JSON"],
    ["too many levels", `{"a":${"[".repeat(200_000)}`, {}, 400, "JSON_TOO_DEEP"],
    ["no object", "[]", {}, 422, "INVALID_SNAPSHOT"],
  ])("of %s are refused", async (_, body, headers, status, code) => {
    const { put, errors } = await openPushApi();
    expect(await refusal(put(undefined, { body, headers }))).toMatchObject({ status, code });
    expect(errors).toEqual([]);
  });

  test("415 says what would be taken", async () => {
    const { put } = await openPushApi();
    const type = await refusal(put(undefined, { headers: { "content-type": "text/yaml" } }));
    expect(type.headers.get("accept")).toBe("application/json");
    const encoding = await refusal(put(undefined, { headers: { "content-encoding": "zstd" } }));
    expect(encoding.headers.get("accept-encoding")).toBe("gzip");
  });

  test("a syntax error is located", async () => {
    const { put } = await openPushApi();
    const refused = await refusal(put(undefined, { body: '{\n  "formatVersion": 1\n  "clusterId": 2}' }));
    expect(refused.details).toEqual({ position: 25, line: 3, column: 3 });
    expect(refused.message).toContain("line 3, column 3");
  });

  test("a schema error names the field", async () => {
    const { put, send } = await openPushApi();
    const snapshot = structuredClone(shopSnapshot("west"));
    Object.assign(snapshot.exports["shop/web"]!.ports[0]!, { port: "http" });
    const refused = await refusal(put(snapshot));
    expect(refused).toMatchObject({ status: 422, code: "INVALID_SNAPSHOT" });
    expect(refused.details).toMatchObject({
      total: 1,
      issues: [{ path: 'exports["shop/web"].ports[0].port' }],
    });
    const { generation } = await acknowledged(put());
    const patch = { exports: { "shop/web": { headless: "yes" } } };
    const delta = JSON.stringify({ baseGeneration: generation, patch });
    expect((await refusal(send("PATCH", "west/snapshot", { body: delta }))).details).toMatchObject({
      issues: [{ path: 'exports["shop/web"].headless' }],
    });
    const noBase = JSON.stringify({ patch });
    expect((await refusal(send("PATCH", "west/snapshot", { body: noBase }))).details).toMatchObject({
      issues: [{ path: "baseGeneration" }],
    });
    const renewal = await refusal(send("POST", "west/lease", { body: '{"generation":"1"}' }));
    expect(renewal.details).toMatchObject({ issues: [{ path: "generation" }] });
  });

  test("a snapshot of another cluster than the path's is refused", async () => {
    const { put } = await openPushApi();
    expect(await refusal(put(shopSnapshot("north")))).toMatchObject({
      status: 422,
      code: "CLUSTER_ID_MISMATCH",
    });
  });

  test.each([
    ["x", "INVALID_LEASE"],
    ["-5", "INVALID_LEASE"],
    ["1e3", "INVALID_LEASE"],
    ["1", "LEASE_OUT_OF_RANGE"],
    ["999999", "LEASE_OUT_OF_RANGE"],
  ])("a lease of %s seconds is refused", async (seconds, code) => {
    const { send } = await openPushApi();
    const path = `west/snapshot?leaseSeconds=${seconds}`;
    expect(await refusal(send("PUT", path, { body: text }))).toMatchObject({ status: 422, code });
  });
});
