import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createAuthority } from "../../../src/access/authority.ts";
import { createTransferRoutes, type TransferDependencies } from "../../../src/http/transfer-routes.ts";
import { sha256 } from "../../http/push/push-api.ts";
import { openPair } from "../pair.ts";

async function openRoutes(more: Partial<TransferDependencies> = {}) {
  const { clock, gateway, push } = await openPair();
  await push("west", 2);
  const routes = createTransferRoutes({ gateway, clock: () => clock.now(), ...more });
  const app = new Hono().route("/api/v1/transfer", routes);
  const send = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.request(`/api/v1/transfer${path}`, { method, headers });
  const hash = gateway.status().rootHash!;
  return { clock, gateway, push, send, hash };
}

const code = async (response: Response) => ((await response.json()) as { code: string }).code;

describe("GET /state", () => {
  it("is the root's hash, the serial, clusters with their leases, and the time", async () => {
    const { clock, gateway, send, hash } = await openRoutes();
    const response = await send("/state");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { conflicts, findings, ...status } = gateway.status();
    expect(await response.json()).toEqual({
      at: clock.now(),
      serial: gateway.current(clock.now())!.generation.serial,
      status: { ...status, rootHash: hash },
    });
  });

  it("has an entity tag that changes with the root and with each lease, and with nothing else", async () => {
    const { clock, gateway, push, send } = await openRoutes();
    const tag = async () => (await send("/state")).headers.get("etag")!;
    const first = await tag();
    clock.stall(10);
    expect(await tag()).toBe(first);
    const same = await send("/state", { "if-none-match": first });
    expect([same.status, await same.text(), same.headers.get("etag")]).toEqual([304, "", first]);
    const { generation } = await push("west", 3);
    const second = await tag();
    expect(second).not.toBe(first);
    clock.stall(10);
    await gateway.renew("west", generation, { leaseSeconds: 90 });
    expect(await tag()).not.toBe(second);
    expect((await send("/state", { "if-none-match": `${first}, ${second}` })).status).toBe(200);
  });

  it("says that the primary is not ready", async () => {
    const { clock, send } = await openRoutes();
    await clock.advance(61_000);
    expect(await (await send("/state")).json()).toMatchObject({ status: { ready: false } });
  });
});

describe("what is not there", () => {
  it.each([
    ["POST", "/state", 405, "METHOD_NOT_ALLOWED"],
    ["PUT", `/roots/${"0".repeat(32)}`, 405, "METHOD_NOT_ALLOWED"],
    ["POST", `/segments/${"0".repeat(32)}`, 405, "METHOD_NOT_ALLOWED"],
    ["DELETE", "/state", 405, "METHOD_NOT_ALLOWED"],
    ["GET", "/segments", 404, "NOT_FOUND"],
    ["GET", "/state/more", 404, "NOT_FOUND"],
  ])("%s %s is %d %s", async (method, path, status, expected) => {
    const { send } = await openRoutes();
    const response = await send(path, {}, method);
    expect([response.status, await code(response)]).toEqual([status, expected]);
    if (status === 405) expect(response.headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("with credentials", () => {
  const authority = createAuthority({
    secrets: [{ holder: { credential: "secondary" }, tokenSha256: sha256("right") }],
  });

  it.each([
    ["no token", {}, 401, "TOKEN_REQUIRED"],
    ["another scheme", { authorization: "Basic cmlnaHQ6cmlnaHQ=" }, 401, "TOKEN_REQUIRED"],
    ["an unknown token", { authorization: "Bearer wrong" }, 401, "UNKNOWN_TOKEN"],
    ["the hash for the token", { authorization: `Bearer ${sha256("right")}` }, 401, "UNKNOWN_TOKEN"],
  ])("%s gets nothing from any path", async (_, headers, status, expected) => {
    const { send, hash } = await openRoutes({ authority });
    for (const path of ["/state", `/roots/${hash}`, "/segments/0", "/elsewhere"])
      for (const method of ["GET", "POST"]) {
        const response = await send(path, headers, method);
        expect([response.status, response.headers.get("www-authenticate")?.slice(0, 6)]).toEqual([
          status,
          "Bearer",
        ]);
        expect(await code(response)).toBe(expected);
      }
  });

  it("the right token gets all, for no shared cache to keep", async () => {
    const { send, hash } = await openRoutes({ authority });
    const headers = { authorization: "Bearer right" };
    expect((await send("/state", headers)).status).toBe(200);
    const root = await send(`/roots/${hash}`, headers);
    expect(root.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  });
});

it("an unforeseen error is in the log, not in the answer", async () => {
  const errors: unknown[] = [];
  const broken = new Error("secret details");
  const { send } = await openRoutes({
    gateway: {
      status: () => {
        throw broken;
      },
      current: () => undefined,
    },
    onError: (error) => errors.push(error),
  });
  const response = await send("/state");
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("secret")]);
  expect(errors).toEqual([broken]);
});
