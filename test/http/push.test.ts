import { describe, expect, test } from "vitest";
import { ClusterResponse } from "../../src/http/push-messages.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { acknowledged, openPushApi, refusal } from "./push-api.ts";

describe("a worker's day", () => {
  test("full snapshot, delta, renewal, status, leave", async () => {
    const { send, put, gateway } = await openPushApi();
    const first = await acknowledged(put());
    expect(first.clusterId).toBe("west");
    const patch = { namespaces: { more: {} }, exports: { "shop/gone": null } };
    const body = JSON.stringify({ baseGeneration: first.generation, patch });
    const second = await acknowledged(send("PATCH", "west/snapshot?leaseSeconds=120", { body }));
    expect(second.generation).toBeGreaterThan(first.generation);
    expect(second.expiresAt - Date.now()).toBeGreaterThan(110_000);

    const renewal = JSON.stringify({ generation: second.generation });
    const third = await acknowledged(send("POST", "west/lease?leaseSeconds=300", { body: renewal }));
    expect(third).toMatchObject({ generation: second.generation });
    expect(third.expiresAt).toBeGreaterThan(second.expiresAt);

    const status = await send("GET", "west");
    const described = ClusterResponse.strict().parse(await status.json());
    expect(described).toMatchObject({
      clusterId: "west",
      live: true,
      exports: 1,
      generation: second.generation,
    });
    expect((await send("HEAD", "west")).status).toBe(200);
    expect(gateway.status().ready).toBe(true);

    expect((await send("DELETE", "west")).status).toBe(204);
    expect((await send("DELETE", "west")).status).toBe(204);
    expect(await refusal(send("GET", "west"))).toMatchObject({ status: 404, code: "UNKNOWN_CLUSTER" });
  });

  test("a status shows the conflicts and findings of its cluster, and of no other", async () => {
    const { send, put } = await openPushApi();
    const finding = {
      reason: "NoService",
      kind: "ServiceExport",
      namespace: "shop",
      name: "gone",
      message: "no Service",
    };
    await acknowledged(put({ ...shopSnapshot("west"), findings: { gone: finding } }));
    const east = shopSnapshot("east.eu");
    const ports = [{ name: "http", protocol: "TCP", port: 81 }];
    const exported = { ...east.exports["shop/web"]!, ports, exportedAt: "2025-01-01T00:00:00Z" };
    const conflicting = { ...east, exports: { "shop/web": exported } };
    await acknowledged(
      send("PUT", "east.eu/snapshot", { token: "east-token", body: JSON.stringify(conflicting) }),
    );
    const west = ClusterResponse.strict().parse(await (await send("GET", "west")).json());
    const other = ClusterResponse.strict().parse(
      await (await send("GET", "east.eu", { token: "east-token" })).json(),
    );
    expect(west.findings).toEqual([{ ...finding, clusterId: "west" }]);
    expect(other.findings).toEqual([]);
    expect(west.conflicts).toHaveLength(1);
    expect(other.conflicts).toEqual(west.conflicts);
    expect(west.conflicts[0]).toMatchObject({ winner: "west", disagree: ["east.eu"] });
  });

  test("409 names the generation that is held, null for none", async () => {
    const { send, put } = await openPushApi();
    const delta = JSON.stringify({ baseGeneration: 1, patch: {} });
    expect(await refusal(send("PATCH", "west/snapshot", { body: delta }))).toMatchObject({
      status: 409,
      code: "GENERATION_MISMATCH",
      currentGeneration: null,
    });
    const { generation } = await acknowledged(put());
    const stale = { status: 409, currentGeneration: generation };
    expect(await refusal(send("PATCH", "west/snapshot", { body: delta }))).toMatchObject(stale);
    const renewal = JSON.stringify({ generation: 1 });
    expect(await refusal(send("POST", "west/lease", { body: renewal }))).toMatchObject(stale);
  });
});

describe("what is not there", () => {
  test.each([
    ["POST", "west/snapshot", "PUT, PATCH"],
    ["GET", "west/snapshot", "PUT, PATCH"],
    ["PUT", "west/lease", "POST"],
    ["PUT", "west", "GET, HEAD, DELETE"],
  ])("%s %s is not allowed", async (method, path, allow) => {
    const { send } = await openPushApi();
    const refused = await refusal(send(method, path));
    expect(refused).toMatchObject({ status: 405, code: "METHOD_NOT_ALLOWED" });
    expect(refused.headers.get("allow")).toBe(allow);
  });

  test.each(["west/other", "west/snapshot/more", "west/lease/"])("%s is not found", async (path) => {
    const { send } = await openPushApi();
    expect(await refusal(send("PUT", path))).toMatchObject({ status: 404, code: "NOT_FOUND" });
  });
});

describe("failures", () => {
  test("nobody foresaw become a 500 that says nothing about them, and are reported", async () => {
    const failure = new Error("disk full at /secret/path");
    const { put, errors } = await openPushApi({ gateway: { replace: () => Promise.reject(failure) } });
    const refused = await refusal(put());
    expect(refused).toMatchObject({ status: 500, code: "INTERNAL" });
    expect(JSON.stringify(refused)).not.toContain("secret");
    expect(errors).toEqual([failure]);
  });

  test("no refusal repeats the token", async () => {
    const { send } = await openPushApi();
    for (const token of ["very-secret-guess", "east-token"]) {
      const response = await send("PUT", "west/snapshot", { token, body: "{}" });
      expect(await response.text()).not.toContain(token);
    }
  });
});
