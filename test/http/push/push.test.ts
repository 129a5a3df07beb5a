import { describe, expect, test } from "vitest";
import { StoreError } from "../../../src/store/store-error.ts";
import { pushRefusalCases } from "../../conformance/cases/push-refusals.ts";
import { pushScenarios } from "../../conformance/cases/push-scenarios.ts";
import { checkCase, titled } from "../../conformance/http-case.ts";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { openPushApi } from "./push-api.ts";

describe("the push API", () => {
  test.each(titled(pushScenarios))("%s", async (_, scenario) => {
    const { errors, ...api } = await openPushApi();
    await scenario.run(api);
    expect(errors).toEqual([]);
  });

  test.each(titled(pushRefusalCases))("%s", async (_, entry) => {
    const { fetch, errors, gateway } = await openPushApi();
    await checkCase(fetch, entry);
    expect(errors).toEqual([]);
    expect(gateway.status().clusters).toEqual([]);
  });
});

test("a full push of what is held is taken over as what is held: it is neither in the memory twice nor merged again", async () => {
  const { put, gateway } = await openPushApi();
  // Long entries are held as objects, whose identity shows it; short ones as text.
  const exports = { "shop/web": headlessExport(200), "shop/db": headlessExport(201) };
  const heldExport = (key: string) => gateway.held("west").packed("exports", key);
  await put({ ...shopSnapshot("west"), exports });
  const [web, db] = [heldExport("shop/web"), heldExport("shop/db")];
  expect([web, db]).toEqual(Object.values(exports));
  await put({ ...shopSnapshot("west"), exports });
  expect(heldExport("shop/web")).toBe(web);
  expect(heldExport("shop/db")).toBe(db);
  await put({ ...shopSnapshot("west"), exports: { ...exports, "shop/db": headlessExport(3) } });
  expect(heldExport("shop/web")).toBe(web);
  expect(gateway.held("west").entry("exports", "shop/db")).toEqual(headlessExport(3));
});

describe("failures", () => {
  test("of a store that lost the snapshot are 409, so that the worker sends it again", async () => {
    const lost = () => Promise.reject(StoreError.noSnapshot("west"));
    const { put, patch, send, errors } = await openPushApi({ gateway: { change: lost, renew: lost } });
    const { generation } = await acknowledged(put());
    const expected = { status: 409, code: "GENERATION_MISMATCH", currentGeneration: null };
    expect(await refusal(patch(generation, {}))).toMatchObject(expected);
    expect(await refusal(send("POST", "west/lease", { body: JSON.stringify({ generation }) }))).toMatchObject(
      expected,
    );
    expect(errors).toEqual([]);
    expect((await put()).status).toBe(200);
  });

  test("nobody foresaw become a 500 that says nothing about them, and are reported", async () => {
    const failure = new Error("disk full at /secret/path");
    const { put, errors } = await openPushApi({ gateway: { replace: () => Promise.reject(failure) } });
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 500, code: "INTERNAL" });
    expect(JSON.stringify(refused)).not.toContain("secret");
    expect(errors).toEqual([failure]);
  });
});
