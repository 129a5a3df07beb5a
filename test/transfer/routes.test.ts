import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import { createTransferRoutes, type TransferDependencies } from "../../src/http/transfer-routes.ts";
import { sha256 } from "../http/push/push-api.ts";
import { openPair } from "./pair.ts";

async function openRoutes(more: Partial<TransferDependencies> = {}) {
  const { clock, gateway, push } = await openPair();
  await push("west", 2);
  const routes = createTransferRoutes({ gateway, clock: () => clock.now(), ...more });
  const app = new Hono().route("/api/v1/transfer", routes);
  const send = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.request(`/api/v1/transfer${path}`, { method, headers });
  const hash = gateway.status().imageHash!;
  return { clock, gateway, push, send, hash };
}

const code = async (response: Response) => ((await response.json()) as { code: string }).code;

describe("GET /state", () => {
  it("is the image's hash, its clusters with their leases, and the time", async () => {
    const { clock, gateway, send, hash } = await openRoutes();
    const response = await send("/state");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { conflicts, findings, ...status } = gateway.status();
    expect(await response.json()).toEqual({ at: clock.now(), status: { ...status, imageHash: hash } });
  });

  it("has an entity tag that changes with the image and with each lease, and with nothing else", async () => {
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
    await gateway.renew("west", generation, 90);
    expect(await tag()).not.toBe(second);
    expect((await send("/state", { "if-none-match": `${first}, ${second}` })).status).toBe(200);
  });

  it("says that the primary is not ready", async () => {
    const { clock, send } = await openRoutes();
    await clock.advance(61_000);
    expect(await (await send("/state")).json()).toMatchObject({ status: { ready: false } });
  });
});

describe("GET /images/{contentHash}", () => {
  it("is the image's octets, which never change", async () => {
    const { gateway, clock, send, hash } = await openRoutes();
    const response = await send(`/images/${hash}`);
    const { bytes } = gateway.current(clock.now())!.image;
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-length": String(bytes.length),
      "cache-control": "public, max-age=31536000, immutable",
      etag: `"${hash}"`,
    });
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect((await send(`/images/${hash}`, { "if-none-match": `"${hash}"` })).status).toBe(304);
    const head = await send(`/images/${hash}`, {}, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([
      200,
      String(bytes.length),
      "",
    ]);
  });

  it.each(["0".repeat(32), "ffff", "..%2f", "__proto__"])("another one is not there: %s", async (other) => {
    const { send } = await openRoutes();
    const response = await send(`/images/${other}`);
    expect([response.status, response.headers.get("cache-control"), await code(response)]).toEqual([
      404,
      "no-store",
      "UNKNOWN_IMAGE",
    ]);
  });

  it("one that a state named is there for a while after it was replaced", async () => {
    const { clock, push, send, hash } = await openRoutes();
    await send("/state");
    await push("west", 3);
    await send("/state");
    expect((await send(`/images/${hash}`)).status).toBe(200);
    clock.stall(10_000);
    expect((await send(`/images/${hash}`)).status).toBe(404);
  });
});

describe("what is not there", () => {
  it.each([
    ["POST", "/state", 405, "METHOD_NOT_ALLOWED"],
    ["PUT", `/images/${"0".repeat(32)}`, 405, "METHOD_NOT_ALLOWED"],
    ["DELETE", "/state", 405, "METHOD_NOT_ALLOWED"],
    ["GET", "/images", 404, "NOT_FOUND"],
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
    for (const path of ["/state", `/images/${hash}`, "/images/0", "/elsewhere"])
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
    const image = await send(`/images/${hash}`, headers);
    expect(image.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  });
});

it("an error that nobody foresaw is told to the log, not to the client", async () => {
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
