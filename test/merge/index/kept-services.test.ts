import { describe, expect, it } from "vitest";
import type { ClustersetService } from "../../../src/merge/clusterset.ts";
import { KeptServices } from "../../../src/merge/index/kept-services.ts";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { sizeOfService } from "../../../src/merge/service/size.ts";
import { exporting, port, web } from "../fixtures.ts";

const bare = web(mergeClusterset([exporting("west")]));
const many = <Element>(count: number, element: Element) => Array.from({ length: count }, () => element);

/** A service with so many ports, and nothing else that counts. */
function sized(ports: number): ClustersetService {
  return { ...bare, ports: many(ports, port("http", 80)), shards: [] };
}

it("the size of a service is that of its ports, endpoints and addresses, in all views and shards", () => {
  const endpoint = { clusterId: "west", reportedBy: "west", address: "10.0.0.1", ports: [] };
  const addresses = (count: number) => ({ ...bare.outside, addresses: many(count, "10.0.0.1") });
  const shard = { clusterId: "west", clusterIPs: [], externalAddresses: [], externalNames: [] };
  expect(
    sizeOfService({
      ...sized(1),
      endpoints: many(2, endpoint),
      outside: addresses(4),
      byCluster: new Map([
        ["east", addresses(8)],
        ["west", addresses(16)],
      ]),
      shards: [
        { ...shard, clusterIPs: many(32, "10.0.0.1") },
        { ...shard, externalAddresses: many(64, "10.0.0.1"), externalNames: many(128, "a.example") },
      ],
    }),
  ).toBe(255);
});

describe("kept services", () => {
  const keepAll = (kept: KeptServices, sizes: Readonly<Record<string, number>>) => {
    for (const [key, size] of Object.entries(sizes)) kept.keep(key, sized(size));
  };
  const keysIn = (kept: KeptServices) =>
    ["a", "b", "c", "d", "e"].filter((key) => kept.get(key) !== undefined).join("");

  it("are all of them up to the bound, then the newest", () => {
    const kept = new KeptServices(10);
    keepAll(kept, { a: 4, b: 4, c: 2 });
    expect(keysIn(kept)).toBe("abc");
    keepAll(kept, { d: 1 });
    expect(keysIn(kept)).toBe("bcd");
    keepAll(kept, { e: 10 });
    expect(keysIn(kept)).toBe("e");
  });

  it("make room where one is dropped", () => {
    const kept = new KeptServices(10);
    keepAll(kept, { a: 4, b: 4 });
    kept.drop("a");
    kept.drop("unknown");
    keepAll(kept, { c: 6 });
    expect(keysIn(kept)).toBe("bc");
    kept.keep("b", undefined);
    keepAll(kept, { d: 4 });
    expect(keysIn(kept)).toBe("cd");
  });

  it("count a service once that is replaced, as the newest", () => {
    const kept = new KeptServices(10);
    keepAll(kept, { a: 5, b: 5 });
    keepAll(kept, { a: 5 });
    expect(keysIn(kept)).toBe("ab");
    keepAll(kept, { c: 1 });
    expect(keysIn(kept)).toBe("ac");
  });

  it("shrink to fewer, and grow again", () => {
    const kept = new KeptServices(10);
    keepAll(kept, { a: 3, b: 3, c: 4 });
    kept.shrinkTo(7);
    expect(keysIn(kept)).toBe("bc");
    kept.shrinkTo(0);
    expect(keysIn(kept)).toBe("");
    keepAll(kept, { d: 5, e: 5 });
    expect(keysIn(kept)).toBe("de");
  });
});
