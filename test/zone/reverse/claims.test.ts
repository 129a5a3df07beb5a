import { describe, expect, it } from "vitest";
import {
  contendersOf,
  currentOf,
  firstOf,
  losersOf,
  ofViews,
} from "../../../src/zone/reverse/contested/contenders.ts";
import {
  areSameCandidates,
  areSameSources,
  areSameTexts,
  type CandidateSource,
  claimsOf,
  compareCandidates,
  isOfService,
  type ReverseCandidate,
} from "../../../src/zone/reverse/reverse-candidate.ts";
import {
  addressKey,
  addressOf,
  claimant,
  claimOf,
  isNeeded,
  LOST,
  orderClaims,
  orderRestored,
  serviceOf,
  splitClaim,
} from "../../../src/zone/reverse/reverse-order.ts";

/** `a1` is the claim of cluster a for shop/s1. */
const claim = (short: string) => (short === LOST ? LOST : claimOf(short[0]!, "shop", `s${short[1]}`));
const claims = (...short: readonly string[]) => short.map(claim);
/** Claims that are made now, with their age behind a colon, and their place behind another. Default: 0. */
const current = (...short: readonly string[]) =>
  short.map((one) => {
    const [name = "", since = 0, place = 0] = one.split(":");
    return { claim: claim(name), since: Number(since), place: Number(place) };
  });
const all = () => true;
const none = () => false;

describe("a claim", () => {
  it("has a cluster and a service", () => {
    const own = claimOf("eu.east", "shop", "web");
    expect([own, claimant(own), serviceOf(own)]).toEqual(["eu.east shop/web", "eu.east", "shop/web"]);
    expect(splitClaim(own)).toEqual({ cluster: "eu.east", namespace: "shop", name: "web" });
    expect([claimant(LOST), serviceOf(LOST)]).toEqual(["", ""]);
  });

  it("is on an address, by its bytes as digits", () => {
    const bytes = Uint8Array.of(0, 10, 255, 1);
    expect([addressKey(bytes), addressOf("000aff01")]).toEqual(["000aff01", bytes]);
    const v6 = Uint8Array.from({ length: 16 }, (_, index) => 255 - index * 16);
    expect(addressOf(addressKey(v6))).toEqual(v6);
  });
});

describe("the order of claims on an address", () => {
  const cases: readonly (readonly [
    what: string,
    known: readonly string[],
    now: readonly string[],
    stays: () => boolean,
    expected: readonly string[],
  ])[] = [
    ["new ones by age", [], ["a1:2", "b1:1"], none, ["b1", "a1"]],
    ["new ones of one age by name", [], ["b1:1", "a2:1", "a1:1"], none, ["a1", "a2", "b1"]],
    ["new ones of one age by name, in any order", [], ["a2:1", "b1:1", "a1:1"], none, ["a1", "a2", "b1"]],
    [
      "new ones of no age by name",
      [],
      ["a2:Infinity", "b1:Infinity", "a1:Infinity"],
      none,
      ["a1", "a2", "b1"],
    ],
    [
      "the oldest for each service before the younger ones for it",
      [],
      ["b1:1", "a1:1:1", "c2:1"],
      none,
      ["b1", "c2", "a1"],
    ],
    ["a claim that is made twice by its oldest", [], ["a1:3", "b1:2", "a1:1"], none, ["a1", "b1"]],
    ["known ones before older new ones", ["b1"], ["a1:1", "b1:2"], none, ["b1", "a1"]],
    ["those that are no longer made left out", ["a1", "b1"], ["b1"], none, ["b1"]],
    ["those that stay before one that is made now", ["a1", "b1"], ["b1"], all, ["a1", "b1"]],
    ["none that stays behind the last one that is made now", ["a1", "b1", "c1"], ["a1"], all, ["a1"]],
    ["all that stay if none is made now", ["a1", "b1"], [], all, ["a1", "b1"]],
    ["a cluster's new service at its place", ["a1", "b1"], ["a2:9", "b1"], none, ["a2", "b1"]],
    [
      "a cluster's new service after its old one",
      ["a1", "b1"],
      ["a1", "a2:9", "b1"],
      none,
      ["a1", "a2", "b1"],
    ],
    ["a cluster's first place", ["a1", "b1", "a2"], ["a3:9", "b1"], none, ["a3", "b1"]],
    [
      "a lost first claim while several clusters claim",
      [LOST, "a1", "b1"],
      ["a1", "b1", "c1"],
      none,
      [LOST, "a1", "b1", "c1"],
    ],
    ["no lost claim if one cluster claims", [LOST, "a1", "b1"], ["a1", "a2"], all, ["a1", "a2"]],
  ];
  it.each(cases)("has %s", (_, known, now, stays, expected) => {
    expect(orderClaims(claims(...known), current(...now), stays)).toEqual(claims(...expected));
  });

  it("is the list that is known where nothing changed", () => {
    const known = claims("b1", "a1");
    expect(orderClaims(known, current("a1:1", "b1:2"), none)).toBe(known);
    const kept = claims("c1", "b1", "a1");
    expect(orderClaims(kept, current("a1:1", "b1:2"), all)).toBe(kept);
    const many = Array.from({ length: 12 }, (__, index) => claimOf(`c${index}`, "shop", "web"));
    const now = many.map((one) => ({ claim: one, since: 0, place: 0 })).reverse();
    expect(orderClaims(many, now, none)).toBe(many);
    expect(orderClaims(claims("a1", "b1"), current("b1", "c1"), none)).toEqual(claims("b1", "c1"));
  });

  it("is lost where several clusters were restored, whose order nobody knows", () => {
    const now = current("a1:2", "b1:1", "c1:0");
    expect(orderRestored(now, new Set(["a", "b"]))).toEqual(claims(LOST, "b1", "a1"));
    expect(orderRestored(now, new Set(["a"]))).toEqual(claims("a1"));
    expect(orderRestored(current("a1:2", "a2:1"), new Set(["a"]))).toEqual(claims("a2", "a1"));
    expect(orderRestored(now, new Set())).toEqual([]);
  });

  it("is needed if it has more than the claims that are answered from", () => {
    expect(isNeeded(claims("a1", "b1"), claims("a1"))).toBe(true);
    expect(isNeeded(claims("a1", "b1"), claims("b1", "a1"))).toBe(false);
    expect(isNeeded(claims("a1", "b1"), [])).toBe(true);
    expect(isNeeded(claims("a1", "a2"), [])).toBe(false);
  });
});

const source = (changed: Partial<CandidateSource> = {}): CandidateSource => ({
  ...{ namespace: "shop", name: "web", tree: "clusterset", view: undefined, rank: 2, since: 5, ttl: 9 },
  ...{ clusters: ["east"], above: ["shop", "svc"], claimants: ["east"] },
  ...changed,
});
const candidate = (changed: Partial<CandidateSource> = {}, label = "web"): ReverseCandidate => ({
  source: source(changed),
  label,
});

describe("candidates", () => {
  it.each<Partial<CandidateSource>>([
    { namespace: "ops" },
    { name: "db" },
    { tree: "local:east" },
    { view: "east" },
    { rank: 1 },
    { since: 6 },
    { ttl: 8 },
    { clusters: ["west"] },
    { clusters: ["east", "west"] },
    { above: ["ops", "svc"] },
    { claimants: [] },
  ])("differ by %j", (changed) => {
    expect(areSameSources(source(), source(changed))).toBe(false);
    expect(areSameCandidates([candidate()], [candidate(changed)])).toBe(false);
  });

  it("are the same if all they say is", () => {
    expect(areSameSources(source(), source())).toBe(true);
    expect(areSameCandidates([candidate()], [candidate()])).toBe(true);
    expect(areSameCandidates([candidate()], [candidate({}, "db")])).toBe(false);
    expect(areSameCandidates([candidate()], [candidate(), candidate()])).toBe(false);
    expect(
      areSameCandidates([candidate(), candidate({ ttl: 1 })], [candidate(), candidate({ ttl: 2 })]),
    ).toBe(false);
    expect([areSameTexts(["a"], ["a"]), areSameTexts(["a"], []), areSameTexts([], ["a"])]).toEqual([
      true,
      false,
      false,
    ]);
    expect(areSameTexts(["a", "b"], ["a", "c"])).toBe(false);
  });

  it.each([
    ["shop/web", true],
    ["shop/we", false],
    ["shop/webs", false],
    ["shop/wet", false],
    ["ship/web", false],
    ["shopsweb", false],
    ["shop/my-web", false],
    ["sho/pweb", false],
  ])("are those of %s: %s", (service, expected) => {
    expect(isOfService(source(), service)).toBe(expected);
  });

  it("are in the order of rank, age in a view, namespace, name", () => {
    const order = (one: Partial<CandidateSource>, other: Partial<CandidateSource>) => [
      Math.sign(compareCandidates(candidate(one), candidate(other))),
      Math.sign(compareCandidates(candidate(other), candidate(one))),
    ];
    const view = "east";
    expect(order({ rank: 0, view, since: 9 }, { rank: 1, view, since: 1 })).toEqual([-1, 1]);
    expect(order({ view, since: 1, name: "z" }, { view, since: 2, name: "a" })).toEqual([-1, 1]);
    expect(order({ view, name: "a" }, { view, name: "z" })).toEqual([-1, 1]);
    expect(order({ since: 9, name: "a" }, { since: 1, name: "z" })).toEqual([-1, 1]);
    expect(order({ namespace: "a", name: "z" }, { namespace: "b", name: "a" })).toEqual([-1, 1]);
    expect(order({}, {})).toEqual([0, 0]);
  });

  it("make the claims of their claimants", () => {
    expect(claimsOf(source({ claimants: ["west", "east"] }))).toEqual(["west shop/web", "east shop/web"]);
  });
});

describe("contenders for an address", () => {
  const east = candidate({ name: "b", claimants: ["east"], since: 3 });
  const west = candidate({ name: "a", claimants: ["west", "north"], since: 4 }, "other");
  const again = candidate({ name: "b", claimants: ["east"], since: 3 }, "second");
  const own = candidate({ view: "east", rank: 1, claimants: [] });
  const ofView = (view: string, rank: 0 | 1 | 2, name: string) =>
    candidate({ view, rank, name, claimants: [] });

  it("are the candidates for all views, one for each claim, by service", () => {
    const contenders = contendersOf([own, east, again, west]);
    expect(contenders).toEqual([
      { candidate: west, claims: ["west shop/a", "north shop/a"] },
      { candidate: east, claims: ["east shop/b"] },
    ]);
    expect(currentOf(contenders)).toEqual([
      { claim: "west shop/a", since: 4, place: 0 },
      { claim: "north shop/a", since: 4, place: 1 },
      { claim: "east shop/b", since: 3, place: 0 },
    ]);
    expect(contendersOf([own])).toEqual([]);
  });

  it("for single views have one winner for each, by the view's name", () => {
    const winners = ofViews([
      ...[
        ofView("west", 2, "a"),
        ofView("east", 2, "a"),
        ofView("west", 0, "z"),
        ofView("east", 1, "b"),
        ofView("north", 0, "c"),
        ofView("apart", 1, "d"),
        east,
      ],
    ]);
    expect(winners.map(({ source: { view, name } }) => [view, name])).toEqual([
      ["apart", "d"],
      ["east", "b"],
      ["north", "c"],
      ["west", "z"],
    ]);
  });

  it("have the first claim that somebody makes; nobody wins a claim that was lost", () => {
    const contenders = contendersOf([east, west]);
    const order = ["gone shop/x", "north shop/a", "east shop/b"];
    const { first, winner } = firstOf(order, contenders);
    expect([first, winner?.candidate]).toEqual(["north shop/a", west]);
    expect(losersOf(contenders, winner, first)).toEqual(["east shop/b"]);
    expect(firstOf([LOST, ...order], contenders)).toEqual({ first: LOST, winner: undefined });
    expect(losersOf(contenders, undefined, LOST)).toEqual(["west shop/a", "east shop/b"]);
  });

  it("lose nothing to their own cluster, or to an equal name", () => {
    const same = candidate({ name: "b", claimants: ["east"] });
    const twice = contendersOf([same, candidate({ name: "c", claimants: ["east"] }, "other")]);
    expect(losersOf(twice, twice[0], "east shop/b")).toEqual([]);
    const equal = contendersOf([same, candidate({ name: "b", claimants: ["west"] })]);
    expect(equal).toHaveLength(2);
    expect(losersOf(equal, equal[0], "east shop/b")).toEqual([]);
    const above = contendersOf([same, candidate({ name: "b", claimants: ["west"], above: ["ops", "svc"] })]);
    expect(losersOf(above, above[0], "east shop/b")).toEqual(["west shop/b"]);
    const joined = candidate({ name: "b", claimants: ["west"], above: ["bshop", "svc"] }, "we");
    const apart = contendersOf([same, joined]);
    expect(losersOf(apart, apart[0], "east shop/b")).toEqual(["west shop/b"]);
  });
});
