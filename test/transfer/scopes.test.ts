import { describe, expect, it } from "vitest";
import { type Visibility, visibilityKey } from "../../src/merge/visibility.ts";
import { HttpTransferSource } from "../../src/transfer/http-source.ts";
import type { SentState } from "../../src/transfer/transfer-state.ts";
import { exporting, importing, snapshot } from "../merge/fixtures.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { FakeSource, inTurns, openPair, transferApp, WEB } from "./pair.ts";

const WEST: Visibility = { clusters: ["west"] };
const AS_WEST: Visibility = { ...WEST, view: "west" };
const SCOPES = [WEST, AS_WEST];

/** A primary with scopes, and its secondaries over HTTP. */
async function openScopes() {
  const pair = await openPair({}, {}, SCOPES);
  const { clock, held, open } = pair;
  const app = transferApp(clock, held);
  const sourceOf = (scope: Visibility) =>
    new HttpTransferSource({
      gateway: "https://primary.invalid",
      scope,
      clock: () => clock.now(),
      fetch: async (url, request) => app.request(url, request),
    });
  const secondaryOf = (scope: Visibility) => open({ source: sourceOf(scope), scope });
  return { ...pair, app, secondaryOf };
}

describe("GET /state?scope=", () => {
  it("is the state of that scope, by the key that it has", async () => {
    const { app, gateway, push } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    const get = async (query: string) => (await app.request(`/api/v1/transfer/state${query}`)).json();
    const status = gateway.within(WEST).status();
    expect(await get(`?scope=${encodeURIComponent(visibilityKey(WEST))}`)).toMatchObject({
      scope: visibilityKey(WEST),
      status: JSON.parse(JSON.stringify(status)),
    });
    expect(status.clusters.map(({ clusterId }) => clusterId)).toEqual(["west"]);
    for (const everything of ["", "?scope="]) {
      const state = await get(everything);
      expect(state).not.toHaveProperty("scope");
      expect(state).toMatchObject({ status: { stateHash: gateway.everything.status().stateHash } });
    }
  });
});

describe("a scope that the primary does not have is 404", () => {
  const scope = (key: string) => `scope=${encodeURIComponent(key)}`;
  const known = scope(visibilityKey(WEST));

  it.each([
    ["one that the primary was not opened with", scope(visibilityKey({ clusters: ["east"] }))],
    ["one that is written otherwise", scope('{ "clusters": ["west"] }')],
    ["no scope at all", scope("west")],
    ["a prototype's key", scope("__proto__")],
    ["one twice", `${known}&${known}`],
    ["one, and everything", `${known}&scope=`],
    ["everything, and one", `scope=&${known}`],
  ])("%s", async (_, query) => {
    const { app } = await openScopes();
    for (const path of ["state?", "world?v=0&"]) {
      const response = await app.request(`/api/v1/transfer/${path}${query}`);
      expect([response.status, response.headers.get("cache-control")]).toEqual([404, "no-store"]);
      expect(await response.json()).toMatchObject({ code: "UNKNOWN_SCOPE" });
    }
  });
});

describe("parts", () => {
  const EAST_ONLY = /east|10\.0\.0\.2|0a000002/;

  it("of a scope have nothing that does not exist in it", async () => {
    const { app, push } = await openScopes();
    await push("west", 2);
    await push("east", 3);
    const get = async (path: string) => {
      const response = await app.request(`/api/v1/transfer/${path}`);
      return Buffer.from(await response.arrayBuffer()).toString("latin1");
    };
    const scope = encodeURIComponent(visibilityKey(WEST));
    const state = JSON.parse(await get(`state?scope=${scope}`)) as SentState;
    const version = `v=${state.base.join("-")}&epoch=${state.epoch}`;
    const unit = "zone=clusterset&namespace=shop&label=web";
    const paths = [
      `key?${unit}&${version}`,
      `reverse?${unit}&${version}`,
      `key?zone=local%3Aeast&namespace=shop&label=web&${version}`,
      `names?list=namespaces&of=&prefix=&${version}`,
      `names?list=labels&of=shop&prefix=&${version}`,
      `claims?bucket=0a00000&${version}`,
      `world?v=${state.world}&epoch=${state.epoch}`,
    ];
    for (const path of paths) {
      const own = await get(`${path}&scope=${scope}`);
      expect(own.length).toBeGreaterThan(5);
      expect(own).not.toMatch(path.includes("local%3Aeast") ? /10\.0/ : EAST_ONLY);
    }
    expect(JSON.stringify(state)).not.toMatch(EAST_ONLY);
    expect(await get(paths[0]!)).toMatch(EAST_ONLY);
  });
});

describe("a secondary of a scope", () => {
  it("with a view has no other cluster's, before its first state too", async () => {
    const { secondaryOf } = await openScopes();
    const secondary = secondaryOf(AS_WEST);
    expect(["east", "west"].map((id) => secondary.hasCluster(id))).toEqual([false, true]);
  });

  it("has the reverse name of an import while a cluster of the scope exports the service", async () => {
    const clusters = ["east", "west"];
    const merging = { grants: new Map([["west", "*" as const]]) };
    const { clock, held, open, ask } = await openPair({}, {}, [{ clusters }], { merging });
    const scope = visibilityKey({ clusters });
    const secondary = open({
      source: new FakeSource(() => held.primary.of(scope)!, clock),
      scope: { clusters },
    });
    const reverse = "1.0.0.10.in-addr.arpa";
    const name = async () => {
      await clock.advance(5000);
      return (await ask(reverse, "PTR", secondary)).addresses;
    };
    await held.put(importing("west", { ips: ["10.0.0.1"] }));
    await held.put(exporting("hidden"));
    expect(await name()).toEqual([]);
    for (const [pushed, names] of [
      [exporting("east"), [WEB]],
      [snapshot("east"), []],
      [exporting("east"), [WEB]],
    ] as const) {
      await held.put(pushed);
      expect(await name()).toEqual(names);
    }
    await inTurns(clock, held.gateway.leave("east"));
    expect(await name()).toEqual([]);
  });

  it("that the primary does not have says so, and answers nothing", async () => {
    const { clock, push, secondaryOf, events } = await openScopes();
    await push("west", 2);
    const secondary = secondaryOf({ clusters: ["east"] });
    await secondary.freshen(clock.now());
    expect(await secondary.answer(encodeQuery(WEB, "A"), undefined, clock.now())).toMatchObject({
      outcome: "servfail",
    });
    expect(secondary.status().transferError).toMatch(/404: the primary does not have this scope/);
    expect(events.at(-1)).toMatchObject({ event: "transfer-failed" });
  });

  it("takes no state of another scope", async () => {
    const { held, push } = await openPair();
    await push("west", 2);
    const everything = held.primary.of("")!.state();
    const source = new HttpTransferSource({
      gateway: "https://primary.invalid",
      scope: WEST,
      fetch: async () => Response.json(everything),
    });
    await expect(source.state(0)).rejects.toThrow(/answered for the scope of everything, not/);
  });
});
