import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { ALL_CLUSTERS } from "../../../src/zone/generation/frame.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { ask, compileWorld } from "../../resolve/ask.ts";
import { arbitraryWorld } from "../../worlds/arbitrary.ts";

const compile = (...args: Parameters<typeof mergeClusterset>) =>
  compileGeneration(mergeClusterset(...args)).generation;

const compiled = new WeakMap<readonly ClusterSnapshot[], ReturnType<typeof compileWorld>>();

/** The generation of these snapshots in one view, compiled once for all views. */
function compileOnce(snapshots: readonly ClusterSnapshot[], view: string): ReturnType<typeof compileWorld> {
  const context = compiled.get(snapshots) ?? compileWorld(snapshots);
  compiled.set(snapshots, context);
  return { ...context, view };
}

describe("a compiled generation", () => {
  it("exists for any snapshots, and answers each of its records at its name", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(4), (snapshots, pick) => {
        const view = [undefined, ...snapshots.map(({ clusterId }) => clusterId)][
          pick % (snapshots.length + 1)
        ];
        const context = compileWorld(snapshots, {}, { view });
        for (const record of listRecords(context.generation, { view })) {
          const { answer } = ask(context, record.name, record.type);
          const rdata = record.rdata.replaceAll(/\.(?= |$)/g, "").toLowerCase();
          expect(answer.map((line) => line.split(" ").slice(3).join(" ").toLowerCase())).toContain(rdata);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("holds the records of each of 300 views", () => {
    const clusters = Array.from({ length: 300 }, (_, index) => `c${index}`);
    const addressOf = (index: number) => `10.${index >> 8}.${index & 255}.1`;
    const snapshots = clusters.map((clusterId, index) =>
      snapshot(clusterId, {
        imports: { "shop/web": imported({ ips: [addressOf(index)] }) },
        clusterZone: { name: "cluster.local", pods: "disabled" },
        services: {
          [`shop/own-${index}`]: {
            createdAt: "2026-01-01T00:00:00Z",
            serviceType: "ClusterIP",
            headless: false,
            ports: [],
            clusterIPs: ["10.96.0.1"],
            endpoints: {},
          },
        },
      }),
    );
    for (const [index, view] of clusters.entries()) {
      const context = compileOnce(snapshots, view);
      expect(ask(context, "web.shop.svc.clusterset.local", "A").answer).toEqual([
        expect.stringMatching(new RegExp(` A ${addressOf(index)}$`)),
      ]);
      expect(ask(context, "1.0.96.10.in-addr.arpa", "PTR").answer).toEqual([
        expect.stringMatching(new RegExp(` PTR own-${index}\\.shop\\.svc\\.cluster\\.local`)),
      ]);
    }
  });

  it("has no lease group with a cluster that its frame lacks: no record expires before all of the frame's", () => {
    fc.assert(
      fc.property(arbitraryWorld, (snapshots) => {
        const generation = compile(snapshots);
        const all = generation.frame.leaseGroups[ALL_CLUSTERS]!;
        const segments = [generation.stems, ...generation.segments(), ...generation.reverseSegments()];
        const named = segments.flatMap(({ leaseGroups }) => leaseGroups.flat());
        expect(named.filter((clusterId) => !all.includes(clusterId))).toEqual([]);
      }),
    );
  });

  it("rejects zones with invalid names", () => {
    const clusterset = mergeClusterset([]);
    expect(() => compileGeneration(clusterset, { zones: [`${"x".repeat(64)}.test`] })).toThrow("64 bytes");
    expect(() => compileGeneration(clusterset, { zones: [] })).toThrow("at least one zone");
    expect(() => compileGeneration(clusterset, { nameServerAddresses: ["here"] })).toThrow(
      "not an IP address",
    );
  });
});

describe("one bad object: data that DNS cannot hold becomes a finding, and other services are still answered", () => {
  it("answers names only in the zones in which they are short enough", () => {
    const long = `${"z".repeat(63)}.${"y".repeat(63)}.test.`;
    const host = "h".repeat(63);
    const world = [
      snapshot("east", {
        exports: {
          [`shop/${"n".repeat(63)}`]: exported({
            headless: true,
            endpoints: endpoints({ address: "10.0.0.1", hostname: host }),
          }),
        },
      }),
    ];
    const context = compileWorld(world, { zones: ["clusterset.local.", long] });
    const service = `${"n".repeat(63)}.shop.svc`;
    expect(ask(context, `${service}.clusterset.local`, "SRV").answer).toHaveLength(1);
    const seen = ask(context, `${service}.${long.slice(0, -1)}`, "SRV");
    expect({ rcode: seen.rcode, answer: seen.answer, authority: seen.authority.length }).toEqual({
      rcode: "NOERROR",
      answer: [],
      authority: 1,
    });
  });
});
