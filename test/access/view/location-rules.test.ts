import { describe, expect, it } from "vitest";
import {
  type ClientLocation,
  createLocationRules,
  type LocationRule,
  type View,
} from "../../../src/access/client.ts";

const rules: readonly LocationRule[] = [
  { when: { country: ["US"], regionCode: ["TX", "OK"] }, region: "us-south1" },
  { when: { country: ["US", "CA"] }, region: "us-east1", zone: "us-east1-b" },
  { when: { colo: ["ZRH"] }, view: "cluster-left" },
  { when: { colo: ["ZRH", "GVA"] }, view: "cluster-a" },
  { when: { continent: ["EU"] }, region: "europe-west1" },
];
const choose = createLocationRules(rules, (clusterId) => clusterId === "cluster-a");

const inView = (view: Partial<View>) => ({
  cluster: undefined,
  locality: undefined,
  isPrivate: true,
  isByLocation: true,
  ...view,
});
const place = (region: string, zone?: string) => inView({ locality: { region, zone } });

describe("rules of the location", () => {
  it.each<[string, ClientLocation | undefined, object | undefined]>([
    ["all facts of a rule have to fit", { country: "US", regionCode: "TX" }, place("us-south1")],
    ["the first that fits wins", { country: "US", regionCode: "CA" }, place("us-east1", "us-east1-b")],
    ["one value of a fact is enough", { country: "CA" }, place("us-east1", "us-east1-b")],
    ["a code of another country's region does not fit", { country: "MX", regionCode: "TX" }, undefined],
    ["a fact that is missing fits nothing", { regionCode: "TX" }, undefined],
    ["letters are folded", { continent: "eu" }, place("europe-west1")],
    [
      "the earlier rule wins, though the later fits too",
      { country: "us", continent: "EU" },
      place("us-east1", "us-east1-b"),
    ],
    [
      "a cluster that is not known is passed over",
      { colo: "zrh", continent: "EU" },
      inView({ cluster: "cluster-a" }),
    ],
    [
      "facts that no rule names count for nothing",
      { colo: "GVA", country: "CH" },
      inView({ cluster: "cluster-a" }),
    ],
    ["Tor, as Cloudflare has it", { country: "T1" }, undefined],
    ["an empty fact", { country: "" }, undefined],
    ["no facts", {}, undefined],
    ["nothing known", undefined, undefined],
  ])("%s", (_, location, expected) => {
    expect(choose(location)).toEqual(expected);
  });

  it("a rule without `when` matches every client that no earlier rule matches", () => {
    const withDefault = createLocationRules([...rules, { region: "asia-east1" }], () => false);
    expect(withDefault(undefined)).toEqual(place("asia-east1"));
    expect(withDefault({ colo: "ZRH" })).toEqual(place("asia-east1"));
    expect(withDefault({ continent: "EU" })).toEqual(place("europe-west1"));
  });

  it.each<[LocationRule, object]>([
    [{ view: "cluster-a" }, inView({ cluster: "cluster-a" })],
    [{ view: "cluster-a", region: "asia-east1" }, inView({ cluster: "cluster-a" })],
    [{ region: "asia-east1" }, place("asia-east1")],
    [{ zone: "asia-east1-a" }, inView({})],
  ])("%j chooses a view, or else a region", (rule, expected) => {
    expect(createLocationRules([rule], () => true)(undefined)).toStrictEqual(expected);
  });
});
