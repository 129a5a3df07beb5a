import { describe, expect, test } from "vitest";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { memoryDatabase } from "../../gateway/open-keyed.ts";
import { openPushApi } from "./push-api.ts";

test("a patch or a renewal of a cluster with a damaged row is 409, so that the worker sends a full snapshot", async () => {
  const database = memoryDatabase();
  const { put, patch, send, errors } = openPushApi({ database });
  const expected = { status: 409, code: "GENERATION_MISMATCH", currentGeneration: null };
  const unready = { endpoints: { "http/TCP/8080": { members: { "10.0.0.1": { ready: false } } } } };
  const { generation } = await acknowledged(put());
  database.exec("UPDATE entry SET text = '{}' WHERE name = 'shop/web'");
  expect(await refusal(patch(generation, { exports: { "shop/web": unready } }))).toMatchObject(expected);
  expect(await refusal(send("POST", "west/lease", { body: JSON.stringify({ generation }) }))).toMatchObject(
    expected,
  );
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

describe("failures", () => {
  test("nobody foresaw become a 500 that says nothing about them, and are reported", async () => {
    const failure = new Error("disk full at /secret/path");
    const { put, errors } = openPushApi({ gateway: { push: () => Promise.reject(failure) } });
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 500, code: "INTERNAL" });
    expect(JSON.stringify(refused)).not.toContain("secret");
    expect(errors).toEqual([failure]);
  });
});
