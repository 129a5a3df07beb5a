import fc from "fast-check";
import { describe, expect, it } from "vitest";
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

  it("is counted in steps of 256 endpoints if it has many", () => {
    expect(stepsOf(service(1000))).toBe(0);
    expect(stepsOf(service(10_000))).toBeGreaterThanOrEqual(Math.floor(10_000 / 256));
  });
});
