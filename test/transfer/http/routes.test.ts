import { describe, expect, it } from "vitest";
import { createAuthority } from "../../../src/access/authority.ts";
import type { TransferDependencies } from "../../../src/http/transfer.ts";
import type { SentState } from "../../../src/transfer/transfer-state.ts";
import { sha256 } from "../../access/authorities.ts";
import { openPair, transferApp } from "../pair.ts";

async function openRoutes(more: Partial<TransferDependencies> = {}) {
  const { clock, held, gateway, push } = await openPair();
  await push("west", 2);
  const app = transferApp(clock, held, more);
  const send = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.request(`/api/v1/transfer${path}`, { method, headers });
  const state = async () => (await (await send("/state")).json()) as SentState;
  /** The path of a part of the newest state. */
  const partPath = async (path: string) => {
    const { base, epoch } = await state();
    return `/${path}&v=${base.join("-")}&epoch=${epoch}`;
  };
  return { clock, gateway, push, send, state, partPath };
}

const code = async (response: Response) => ((await response.json()) as { code: string }).code;

describe("GET /state", () => {
  it("is the serial, clusters with their leases, the newest changes, and the time", async () => {
    const { clock, gateway, send } = await openRoutes();
    const response = await send("/state");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const { generation } = gateway.everything.status().clusters[0]!;
    expect(await response.json()).toEqual({
      at: clock.now(),
      epoch: expect.stringMatching(/^[0-9a-f]{32}$/),
      base: [0, 0],
      recent: [0, 0],
      changes: [[generation, "west", "return", expect.arrayContaining(["shop/web", "shop/"])]],
      world: expect.stringMatching(/^[0-9a-f]{32}$/),
      serial: gateway.everything.current(clock.now())!.world.serial,
      status: gateway.everything.status(),
    });
  });
});

describe("what is not there", () => {
  it.each([
    ["POST", "/state", 405, "METHOD_NOT_ALLOWED"],
    ["PUT", "/key", 405, "METHOD_NOT_ALLOWED"],
    ["GET", "/segments", 404, "NOT_FOUND"],
    ["GET", "/key", 404, "UNKNOWN_PART"],
    ["GET", "/key?v=0-0&epoch=other", 404, "UNKNOWN_PART"],
    ["GET", "/world?v=00", 404, "UNKNOWN_PART"],
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
    ["no token", {}, "TOKEN_REQUIRED"],
    ["another scheme", { authorization: "Basic cmlnaHQ6cmlnaHQ=" }, "TOKEN_REQUIRED"],
    ["an unknown token", { authorization: "Bearer wrong" }, "UNKNOWN_TOKEN"],
    ["the hash for the token", { authorization: `Bearer ${sha256("right")}` }, "UNKNOWN_TOKEN"],
  ])("%s gets nothing from any path", async (_, headers, expected) => {
    const { send } = await openRoutes({ authority });
    for (const path of ["/state", "/key?v=0-0", "/world", "/elsewhere"])
      for (const method of ["GET", "POST"]) {
        const response = await send(path, headers, method);
        expect([response.status, await code(response)]).toEqual([401, expected]);
        expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
      }
  });

  it("the right token gets all, for no shared cache to keep", async () => {
    const { send } = await openRoutes({ authority });
    const headers = { authorization: "Bearer right" };
    const { world, epoch } = (await (await send("/state", headers)).json()) as SentState;
    const part = await send(`/world?v=${world}&epoch=${epoch}`, headers);
    expect(part.status).toBe(200);
    expect(part.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  });
});

describe("a part", () => {
  it.each([
    "key?zone=clusterset&namespace=shop&label=web",
    "reverse?zone=clusterset&namespace=shop&label=web",
    "names?list=labels&of=shop&prefix=",
    "below?tree=clusterset&namespace=shop",
    "claims?bucket=0a00000",
    "services?words=web&view=&offset=0&most=5",
  ])("%s is for ever", async (path) => {
    const { send, partPath } = await openRoutes();
    const response = await send(await partPath(path));
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect((await response.arrayBuffer()).byteLength).toBe(Number(response.headers.get("content-length")));
  });

  it.each([
    "key?zone=local:nobody&namespace=shop&label=web",
    "key?zone=clusterset&namespace=%2F&label=%00",
    "key?",
    "names?list=nothing",
    "names?list=labels&of=%00&prefix=%7f",
    "names?list=pods&of=shop%2Fweb",
    "below?tree=nothing&namespace=x",
    "claims?bucket=%27",
    "changes?from=9-9",
  ])("%s is empty or unknown", async (path) => {
    const { send, partPath } = await openRoutes();
    expect([200, 404]).toContain((await send(await partPath(path))).status);
  });
});

it("an unforeseen error is in the log, not in the answer", async () => {
  const errors: unknown[] = [];
  const broken = new Error("secret details");
  const { send } = await openRoutes({
    gateway: {
      position: 0,
      unwrittenExpiries: () => expect.unreachable(),
      get scopes(): never {
        throw broken;
      },
    },
    onError: (error) => errors.push(error),
  });
  const response = await send("/state");
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining("secret")]);
  expect(errors).toEqual([broken]);
});
