import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { headerLine, LINES_TYPE, pushed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { answered } from "../harness/answers.ts";
import type { HttpAnswer } from "../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

interface Acknowledged {
  generation: number;
  expiresAt: number;
}

/** A cluster with a headless service `db` in `shop`, with one endpoint. */
function snapshotOf(clusterId: string, address: string): ClusterSnapshot {
  const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
  const endpoints = { "pg/TCP/5432": { ports, members: { [address]: { address } } } };
  return snapshot(clusterId, { exports: { "shop/db": exported({ headless: true, ports, endpoints }) } });
}

describe("the push API of a running gateway", () => {
  let gateway: GatewayProcess;

  beforeAll(async () => {
    const limits = { pushBytes: 65_536, pushSentBytes: 16_384 };
    gateway = await startGateway({ clusters: ["east", "west"], config: { limits } });
  });

  afterAll(async () => {
    await gateway?.stop();
  });

  const send = (
    method: string,
    path: string,
    body: string | Buffer | object,
    headers: Record<string, string> = {},
    token = gateway.tokenFor("east"),
  ): Promise<HttpAnswer> => {
    const to = `/api/v1/clusters/${path}`;
    const fields = { authorization: `Bearer ${token}`, "content-type": LINES_TYPE, ...headers };
    return typeof body === "string" || Buffer.isBuffer(body)
      ? gateway.http(to, { method, headers: fields, body })
      : gateway.http(...pushed(method, to, body, { authorization: `Bearer ${token}`, ...headers }));
  };
  const put = (body: string | Buffer | object, headers = {}, token?: string) =>
    send("PUT", "east/snapshot", body, headers, token);

  test("accepts a full snapshot, a delta against its generation, a renewal, and leaving", async () => {
    const first = await put(snapshotOf("east", "10.1.0.1"));
    expect(first).toMatchObject({ status: 200 });
    const { generation } = first.json<Acknowledged>();
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.1"]);

    const members = { "10.1.0.1": null, "10.1.0.2": { address: "10.1.0.2" } };
    const patch = { exports: { "shop/db": { endpoints: { "pg/TCP/5432": { members } } } } };
    const delta = await send("PATCH", "east/snapshot", { baseGeneration: generation, patch });
    expect(delta).toMatchObject({ status: 200 });
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.2"]);

    const again = await send("PATCH", "east/snapshot", { baseGeneration: generation, patch });
    expect(again.status).toBe(409);
    const { generation: second } = delta.json<Acknowledged>();
    expect((await send("POST", "east/lease", { generation })).status).toBe(409);
    expect((await send("POST", "east/lease", { generation: second })).status).toBe(200);

    expect((await send("DELETE", "east", "")).status).toBe(204);
    // Left on purpose, so its names are gone and not unknown.
    expect(await answered(gateway, "db.shop")).toBe("NXDOMAIN");
    await expect(gateway.clusterStatus("east")).rejects.toThrow("404");
  });

  test("snapshot, delta and renewal survive kill -9 right after their acknowledgement", async () => {
    let acknowledged = (await put(snapshotOf("east", "10.1.0.1"))).json<Acknowledged>();
    const crash = async () => {
      await gateway.kill();
      await gateway.restart();
      expect(await gateway.clusterStatus<Acknowledged>("east")).toMatchObject(acknowledged);
      return answered(gateway, "db.shop");
    };
    expect(await crash()).toEqual(["10.1.0.1"]);
    const members = { "10.1.0.2": { address: "10.1.0.2" } };
    const patch = { exports: { "shop/db": { endpoints: { "pg/TCP/5432": { members } } } } };
    const delta = { baseGeneration: acknowledged.generation, patch };
    acknowledged = (await send("PATCH", "east/snapshot", delta)).json<Acknowledged>();
    expect(await crash()).toEqual(["10.1.0.1", "10.1.0.2"]);
    const { generation } = acknowledged;
    acknowledged = (await send("POST", "east/lease?leaseSeconds=300", { generation })).json<Acknowledged>();
    expect(await crash()).toEqual(["10.1.0.1", "10.1.0.2"]);
  });

  test("a push without a token, with a wrong one, or with another cluster's changes nothing", async () => {
    expect((await put(snapshotOf("east", "10.1.0.1"))).status).toBe(200);
    const changed = snapshotOf("east", "10.9.9.9");
    const without = await put(changed, { authorization: "" });
    expect(without).toMatchObject({
      status: 401,
      headers: { "www-authenticate": expect.stringContaining("Bearer") },
    });
    expect((await put(changed, {}, `${gateway.tokenFor("east")}x`)).status).toBe(401);
    expect((await put(changed, {}, gateway.tokenFor("west"))).status).toBe(403);
    const smuggled = await send("PUT", "west/snapshot", changed, {}, gateway.tokenFor("west"));
    expect(smuggled.status).toBeGreaterThanOrEqual(400);
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.1"]);
    expect(gateway.process.log()).not.toContain(gateway.tokenFor("east"));
  });

  test("accepts gzip, and rejects a body that is too large, compressed or not, with 413", async () => {
    const packed = gzipSync(snapshotBody(snapshotOf("east", "10.1.0.3")));
    expect((await put(packed, { "content-encoding": "gzip" })).status).toBe(200);
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.3"]);
    expect((await put("x".repeat(20_000))).status).toBe(413);
    const line = `["pods","shop/${"0".repeat(480)}",{}]\n`;
    const bomb = gzipSync(`${headerLine("east")}\n${line.repeat(2000)}`);
    expect(bomb.length).toBeLessThan(16_384);
    expect((await put(bomb, { "content-encoding": "gzip" })).status).toBe(413);
    expect((await put(packed, { "content-encoding": "br" })).status).toBe(415);
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.3"]);
  });

  test("rejects an invalid snapshot with the name of each field, and changes nothing", async () => {
    const { endpoints: _, ...lacking } = snapshotOf("east", "10.1.0.1").exports["shop/db"]!;
    const refused = await put({ ...snapshotOf("east", "10.1.0.1"), exports: { a: lacking, "b/c": {} } });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain("exports.a");
    expect(refused.text).toContain("endpoints");
    expect(refused.text).toContain("exportedAt");
    expect((await put("{\n")).status).toBe(400);
    expect((await put(packedTwice(), { "content-encoding": "gzip" })).status).toBe(400);
    expect((await put(snapshotOf("east", "10.1.0.1"), { "content-type": "text/plain" })).status).toBe(415);
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.3"]);
  });
});

function packedTwice(): Buffer {
  return gzipSync(gzipSync("{}"));
}
