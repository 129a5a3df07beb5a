import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { charactersOf, pack, packInSteps, unpack } from "../../src/snapshot/held/packed-entry.ts";

/** An exported service with so many endpoints, as far as packing looks at it. */
function service(endpoints: number): object {
  const members: Record<string, object> = {};
  for (let index = 0; index < endpoints; index++)
    members[`10.0.${index >> 8}.${index & 255}#"${index}"`] = {
      address: `10.0.${index >> 8}.${index & 255}`,
      hostname: `pod-${index}`,
      ...(index % 3 === 0 && { ready: undefined }),
    };
  return { headless: true, ports: [{ port: 80 }], endpoints: { "http/TCP/80": { ports: [], members } } };
}

afterEach(() => {
  vi.restoreAllMocks();
});

const stepsOf = (entry: object) => [...packInSteps(entry)].length;

describe("a packed entry", () => {
  it.each([0, 1, 5, 1024, 1025, 5000])("with %i endpoints has the length of its JSON", (endpoints) => {
    const entry = service(endpoints);
    expect(charactersOf(pack(entry))).toBe(JSON.stringify(entry).length);
  });

  it("is the entry again", () => {
    fc.assert(
      fc.property(fc.nat(2000), (endpoints) => {
        const entry = service(endpoints);
        expect(unpack(pack(entry))).toEqual(JSON.parse(JSON.stringify(entry)));
      }),
      { numRuns: 20 },
    );
  });

  it("is JSON if that is short, otherwise the entry itself", () => {
    const [short, long, longer] = [service(5), service(500), service(5000)];
    expect(pack(short)).toBe(JSON.stringify(short));
    expect(pack(long)).toBe(long);
    expect(pack(longer)).toBe(longer);
  });

  it("is counted in steps if it has many endpoints: one for each 256, and for each of the four objects around them", () => {
    expect(stepsOf(service(1000))).toBe(0);
    expect(stepsOf(service(10_000))).toBe(4 + Math.floor(10_000 / 256));
  });

  it("is JSON of at most 8,192 characters", () => {
    const ofLength = (length: number) => ({ text: "x".repeat(length - '{"text":""}'.length) });
    expect(pack(ofLength(8192))).toBe(JSON.stringify(ofLength(8192)));
    const long = ofLength(8193);
    expect([pack(long), charactersOf(pack(long))]).toEqual([long, 8193]);
  });

  it("is itself if a table has more than 1,024 members, however short: they are counted without the JSON", () => {
    const table = (members: number) =>
      Object.fromEntries(Array.from({ length: members }, (_, index) => [index.toString(36), 0]));
    for (const around of [(entry: object) => entry, (entry: object) => ({ a: 1, b: { c: entry } })]) {
      const [most, more] = [around(table(1024)), around(table(1025))];
      expect(pack(most)).toBe(JSON.stringify(most));
      const write = vi.spyOn(JSON, "stringify");
      expect(pack(more)).toBe(more);
      expect(write.mock.calls.filter(([value]) => value === more)).toEqual([]);
      write.mockRestore();
      expect(charactersOf(more)).toBe(JSON.stringify(more).length);
    }
  });

  it("is JSON if a list or a text has more elements or characters than a table may have members", () => {
    for (const entry of [{ a: new Array(1025).fill(0) }, { a: "x".repeat(1025) }, { a: null }])
      expect(pack(entry)).toBe(JSON.stringify(entry));
  });

  it("that is empty is the same text as any other", () => {
    expect([pack({}), charactersOf(pack({})), unpack(pack({}))]).toEqual(["{}", 2, {}]);
  });

  it("has its length at once if it is long", () => {
    const [long, longer] = [service(500), service(5000)];
    const lengths = [long, longer].map((entry) => JSON.stringify(entry).length);
    for (const entry of [long, longer]) pack(entry);
    const write = vi.spyOn(JSON, "stringify");
    expect([charactersOf(long), charactersOf(longer)]).toEqual(lengths);
    expect(write).not.toHaveBeenCalled();
  });

  it("has its length also if this process did not pack it", () => {
    expect(charactersOf(service(5))).toBe(JSON.stringify(service(5)).length);
  });

  it("has the length of its JSON also with empty tables, lists and absent members in it", () => {
    const { endpoints } = service(1100) as { endpoints: object };
    for (const more of [
      {},
      { e: {} },
      { e: { a: {}, b: [], c: undefined } },
      { e: { a: undefined } },
      { e: [{}] },
    ]) {
      const entry = { ...more, endpoints };
      expect(charactersOf(pack(entry))).toBe(JSON.stringify(entry).length);
    }
  });
});
