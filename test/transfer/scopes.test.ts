import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createTransferRoutes } from "../../src/http/transfer-routes.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../../src/merge/visibility/visibility.ts";
import { HttpTransferSource } from "../../src/transfer/http-source.ts";
import { Primary } from "../../src/transfer/primary.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { openPair, WEB } from "./pair.ts";

const WEST: Visibility = { clusters: ["west"] };
const AS_WEST: Visibility = { ...WEST, view: "west" };
const SCOPES = [WEST, AS_WEST];

/** A primary with scopes, and its secondaries over HTTP. */
async function openScopes() {
  const pair = await openPair({}, {}, SCOPES);
  const { clock, gateway, open } = pair;
  const app = new Hono().route(
    "/api/v1/transfer",
    createTransferRoutes({ gateway, clock: () => clock.now() }),
  );
  const asked: string[] = [];
  const sourceOf = (scope: Visibility) =>
    new HttpTransferSource({
      gateway: "https://primary.invalid",
      scope,
      clock: () => clock.now(),
      fetch: async (url, request) => {
        asked.push(url.slice("https://primary.invalid/api/v1/transfer/".length));
        return app.request(url, request);
      },
    });
  const secondaryOf = (scope: Visibility) => open({ source: sourceOf(scope), scope });
  /** A secondary that has asked. */
  const freshOf = async (scope: Visibility) => {
    const secondary = secondaryOf(scope);
    await secondary.freshen(clock.now());
    return secondary;
  };
  return { ...pair, app, asked, secondaryOf, freshOf };
}

describe("GET /state?scope=", () => {
  it("is the state of that scope, by the key that it has", async () => {
    const { app, gateway, push } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    const get = async (query: string) => (await app.request(`/api/v1/transfer/state${query}`)).json();
    const { conflicts: _, findings: __, ...status } = gateway.within(WEST).status();
    expect(await get(`?scope=${encodeURIComponent(visibilityKey(WEST))}`)).toMatchObject({
      scope: visibilityKey(WEST),
      status,
    });
    expect(status.clusters.map(({ clusterId }) => clusterId)).toEqual(["west"]);
    for (const everything of ["", "?scope="]) {
      const state = await get(everything);
      expect(state).not.toHaveProperty("scope");
      expect(state).toMatchObject({ status: { rootHash: gateway.status().rootHash } });
    }
  });

  it.each([
    ["one that the primary was not opened with", visibilityKey({ clusters: ["east"] })],
    ["one that is written otherwise", '{ "clusters": ["west"] }'],
    ["no scope at all", "west"],
    ["a prototype's key", "__proto__"],
  ])("%s is 404", async (_, scope) => {
    const { app } = await openScopes();
    const response = await app.request(`/api/v1/transfer/state?scope=${encodeURIComponent(scope)}`);
    expect([response.status, response.headers.get("cache-control")]).toEqual([404, "no-store"]);
    expect(await response.json()).toMatchObject({ code: "UNKNOWN_SCOPE" });
  });

  it("two scopes at once are 404", async () => {
    const { app } = await openScopes();
    const key = encodeURIComponent(visibilityKey(WEST));
    for (const query of [`scope=${key}&scope=${key}`, `scope=${key}&scope=`, `scope=&scope=${key}`])
      expect((await app.request(`/api/v1/transfer/state?${query}`)).status).toBe(404);
  });
});

describe("segments", () => {
  const partsOf = ({ generation }: { readonly generation: Generation }) => [
    ...[...generation.segments(), ...generation.reverseSegments()].map(({ hash }) => hash),
    ...[generation.frame.hash, generation.stems.hash, generation.names.hash, generation.reverse.hash],
  ];

  it("of other scopes are not there, by whatever hash, and equal ones are shared", async () => {
    const { app, clock, gateway, push } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    const scope = encodeURIComponent(visibilityKey(WEST));
    const get = async (path: string) => (await app.request(`/api/v1/transfer/${path}`)).status;
    await get("state");
    await get(`state?scope=${scope}`);
    const all = gateway.current(clock.now())!;
    const own = gateway.within(WEST).current(clock.now())!;
    const ownParts = new Set(partsOf(own));
    const hidden = partsOf(all).filter((hash) => !ownParts.has(hash));
    expect(hidden.length).toBeGreaterThan(2);
    expect(partsOf(all).some((hash) => ownParts.has(hash))).toBe(true);
    for (const hash of partsOf(all)) {
      expect(await get(`segments/${hash}`)).toBe(200);
      expect(await get(`segments/${hash}?scope=${scope}`)).toBe(ownParts.has(hash) ? 200 : 404);
    }
    for (const kind of ["roots", "segments"]) {
      const root = all.generation.rootHash;
      expect(await get(`${kind}/${root}?scope=${scope}`)).toBe(404);
    }
    expect(await get(`roots/${own.generation.rootHash}?scope=${scope}`)).toBe(200);
    expect(await get(`roots/${own.generation.rootHash}`)).toBe(404);
  });

  it("are there for a while after they were replaced", async () => {
    const { clock, gateway, push } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    const primary = new Primary(gateway, () => clock.now());
    const west = primary.of(visibilityKey(WEST))!;
    const hash = west.state().status.rootHash!;
    const parts = partsOf(gateway.within(WEST).current(clock.now())!);
    await push("west", 4);
    expect(west.root(hash, "")).toBeDefined();
    for (const part of parts) expect(west.segment(part, "")).toBeDefined();
    clock.stall(10_000);
    expect(west.root(hash, "")).toBeUndefined();
    expect(parts.every((part) => west.segment(part, "") !== undefined)).toBe(false);
  });

  it("of a scope that the primary does not have are 404", async () => {
    const { app, gateway, push } = await openScopes();
    await push("west", 2);
    const scope = encodeURIComponent(visibilityKey({ clusters: ["east"] }));
    const response = await app.request(`/api/v1/transfer/roots/${gateway.status().rootHash}?scope=${scope}`);
    expect([response.status, await response.json()]).toMatchObject([404, { code: "UNKNOWN_SCOPE" }]);
  });
});

describe("a secondary of a scope", () => {
  it("answers as the gateway does in that scope", async () => {
    const { clock, gateway, push, freshOf, asked } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    for (const scope of [EVERYTHING, WEST, AS_WEST]) {
      const secondary = await freshOf(scope);
      const now = clock.now();
      const within = gateway.within(scope);
      for (const view of [undefined, "east", "west"])
        for (const name of [WEB, "nothing.shop.svc.clusterset.local"]) {
          const query = encodeQuery(name, "A");
          expect(secondary.answer(query, view, now)).toEqual(within.answer(query, view, now));
        }
      for (const id of ["east", "west", "north"])
        expect(secondary.hasCluster(id)).toBe(within.hasCluster(id));
    }
    expect(asked[0]).toBe("state");
    expect(asked).toContain(`state?scope=${encodeURIComponent(visibilityKey(WEST))}`);
  });

  it("with a view has no other cluster's, before its first generation too", async () => {
    const { secondaryOf } = await openScopes();
    const secondary = secondaryOf(AS_WEST);
    expect(["east", "west"].map((id) => secondary.hasCluster(id))).toEqual([false, true]);
  });

  it("that the primary does not have says so, and answers nothing", async () => {
    const { clock, push, freshOf, events } = await openScopes();
    await push("west", 2);
    const secondary = await freshOf({ clusters: ["east"] });
    expect(await secondary.answer(encodeQuery(WEB, "A"), undefined, clock.now())).toMatchObject({
      outcome: "servfail",
    });
    expect(secondary.status().transferError).toMatch(/404: the primary does not have this scope/);
    expect(events.at(-1)).toMatchObject({ event: "transfer-failed" });
  });

  it("takes nothing from a primary that knows no scopes", async () => {
    const { clock, gateway, push } = await openPair();
    await push("west", 2);
    const everything = new Primary(gateway, () => clock.now()).of("")!.state();
    const source = new HttpTransferSource({
      gateway: "https://primary.invalid",
      scope: WEST,
      fetch: async () => Response.json(everything),
    });
    await expect(source.state(0)).rejects.toThrow(/answered for everything, not for the scope/);
  });
});
