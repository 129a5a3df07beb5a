import { expect, it } from "vitest";
import { PartCache, PartMemory } from "../../src/transfer/part-cache.ts";
import {
  candidatesIn,
  claimsIn,
  readClaims,
  readList,
  readReverse,
  writeJson,
} from "../../src/transfer/part-forms.ts";

const hexOf = (index: number) => index.toString(16).padStart(8, "0");
const source = {
  namespace: "shop",
  name: "web",
  tree: "clusterset",
  rank: 2,
  since: "-Infinity",
  ttl: 5,
  clusters: ["west"],
  above: ["web", "shop", "svc"],
  claimants: ["west"],
};

function reverseOf(count: number) {
  const addresses = Array.from({ length: count }, (_, index) => [hexOf(index), 0, index === 7 ? "a]" : null]);
  return readReverse(
    writeJson({
      at: 1,
      clusters: ["west"],
      hasAudiences: false,
      sources: [source],
      addresses: [...addresses, [hexOf(7), 0, "b"]],
    }),
  ).value;
}

/** How many objects and texts a value is made of. */
function partsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const members = ArrayBuffer.isView(value) ? [] : Object.values(value);
  return members.reduce((sum: number, member) => sum + partsOf(member), 1);
}

it("the reverse names of a service are held without an object for each address, and each is found", () => {
  const reverse = reverseOf(1000);
  expect(partsOf(reverse)).toBe(partsOf(reverseOf(8)));
  const labelsOf = (index: number) =>
    candidatesIn(reverse, Uint8Array.of(0, 0, index >> 8, index & 255)).map(({ label }) => label);
  expect([0, 7, 999, 1000].map(labelsOf)).toEqual([[undefined], ["a]", "b"], [undefined], []]);
});

it.each([
  ["a time that is none", { since: "yesterday" }],
  ["a label that is too long", { above: ["x".repeat(64)] }],
  ["more labels than a name has", { above: Array.from({ length: 128 }, () => "x") }],
])("reverse names with %s are rejected", (_, wrong) => {
  const sources = [{ ...source, ...wrong }];
  const bytes = writeJson({ at: 1, clusters: [], hasAudiences: false, sources, addresses: [] });
  expect(() => readReverse(bytes)).toThrow("cannot be read: sources.0");
});

it("claims are held as a text for each address", () => {
  const claim = (index: number) => ["west", `shop/web-${index}`, "export", index];
  const claims = Object.fromEntries(
    Array.from({ length: 64 }, (_, index) => [hexOf(index), [claim(index), claim(99)]]),
  );
  const { value } = readClaims(writeJson({ at: 1, claims, namespaces: [] }));
  expect(new Set([...value.claims.values()].map((one) => typeof one))).toEqual(new Set(["string"]));
  expect(claimsIn(value.claims.get(hexOf(3))!).map(({ key }) => key)).toEqual(["shop/web-3", "shop/web-99"]);
});

it("each name of a list counts in memory, beside the bytes that were fetched", () => {
  const memory = new PartMemory(2 ** 20);
  const cache = new PartCache(memory, "epoch", { position: 1, generation: 1 });
  const bytes = writeJson({ at: 1, names: Array.from({ length: 1000 }, (_, index) => `name-${index}`) });
  cache.set("list", readList(bytes), bytes.length);
  expect(memory.bytes).toBeGreaterThan(bytes.length + 50 * 1000);
});

it("claims on no address push nothing out of memory, however many are fetched", () => {
  const memory = new PartMemory(2 ** 20);
  const cache = new PartCache(memory, "epoch", { position: 1, generation: 1 });
  const bytes = writeJson({ at: 1, claims: {}, namespaces: [] });
  for (let index = 0; index < 1000; index++) cache.set(`claims ${index}`, readClaims(bytes), bytes.length);
  expect(memory.bytes).toBe(0);
  expect(cache.isRight("claims 999", { position: 1, generation: 1 })).toBe(true);
});
