import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeChanges, encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { applyPatch, readSnapshotLines } from "../changes.ts";
import { diffSnapshots } from "../diff-snapshots.ts";
import { headlessExport, shopSnapshot, snapshots } from "../worlds.ts";
import { concat, cutAt } from "./bytes.ts";
import { sealed } from "./push-lines.ts";

const HEADER = '{"formatVersion":2,"clusterId":"west"}';

function textOf(lines: Iterable<Uint8Array>): string {
  return new TextDecoder().decode(concat(lines));
}

/** The snapshot after the lines of a patch. */
function patched(from: ClusterSnapshot, to: ClusterSnapshot): ClusterSnapshot {
  return applyPatch(from, diffSnapshots(from, to) ?? {});
}

/** A snapshot whose service has more of everything than a line may have. */
function largeSnapshot(): ClusterSnapshot {
  const { endpoints, ...exported } = headlessExport(2500);
  const emptyGroups = Object.fromEntries(
    Array.from({ length: 2500 }, (_, index) => [`p${index}/TCP/1`, { ports: [], members: {} }]),
  );
  const labels = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`label-${index}`, "x"]));
  const note = (index: number) => [`note-${index}`, `é${"\u0001".repeat(150_000)}`] as const;
  return {
    ...shopSnapshot("west"),
    exports: {
      "shop/web": {
        ...exported,
        exportedLabels: labels,
        exportedAnnotations: Object.fromEntries(Array.from({ length: 5 }, (_, index) => note(index))),
        endpoints: { ...endpoints, ...emptyGroups },
      },
    },
    imports: {
      "shop/web": {
        ips: [],
        ports: [],
        endpoints: Object.fromEntries(
          Array.from({ length: 2100 }, (_, index) => [`c${index}`, index % 1000 === 1 ? endpoints : {}]),
        ),
      },
    },
  };
}

describe("a snapshot as lines", () => {
  test("has a header, one line an entry, and a count and a hash", () => {
    expect(textOf(encodeSnapshot(shopSnapshot("west", 1)))).toBe(
      sealed(
        HEADER,
        '["namespaces","shop",{}]',
        `["exports","shop/web",${JSON.stringify(headlessExport(1))}]`,
      ),
    );
  });

  test("has what keeps the worker from reading all of its cluster in its header, if anything does", () => {
    const degraded = [{ reason: "API_UNREACHABLE", seconds: 5 }];
    const snapshot = shopSnapshot("west", 1);
    expect(textOf(encodeSnapshot(snapshot, { degraded })).split("\n")[0]).toBe(
      `{"formatVersion":2,"clusterId":"west","degraded":${JSON.stringify(degraded)}}`,
    );
    expect(textOf(encodeSnapshot(snapshot, {}))).toBe(textOf(encodeSnapshot(snapshot)));
    const changes = textOf(
      encodeChanges("west", { pods: null, namespaces: { a: undefined, b: null } }, { degraded }),
    );
    expect(changes).toBe(
      sealed(
        `{"formatVersion":2,"clusterId":"west","degraded":${JSON.stringify(degraded)}}`,
        '["namespaces","b",null]',
      ),
    );
  });

  test("is read back, whatever the pieces in which it comes", () => {
    fc.assert(
      fc.property(snapshots, fc.array(fc.nat({ max: 3000 })), (snapshot, offsets) => {
        const bytes = concat(encodeSnapshot(snapshot));
        expect(readSnapshotLines(cutAt(bytes, offsets))).toEqual(snapshot);
      }),
    );
  });
});

describe("changes as lines", () => {
  test("are one short line for an endpoint of a service with 5,000", () => {
    const from = shopSnapshot("west", 5000);
    const to = structuredClone(from);
    to.exports["shop/web"]!.endpoints["http/TCP/8080"]!.members["10.0.0.7"]!.ready = false;
    const lines = textOf(encodeChanges("west", diffSnapshots(from, to)!)).split("\n");
    expect(lines.slice(0, 2)).toEqual([
      HEADER,
      '["exports","shop/web",{"endpoints":{"http/TCP/8080":{"members":{"10.0.0.7":{"ready":false}}}}}]',
    ]);
    expect(lines).toHaveLength(4);
    expect(patched(from, to)).toEqual(to);
  });

  test("remove and add more than a line may have", () => {
    const large = largeSnapshot();
    const small = shopSnapshot("west");
    expect(patched(small, large)).toEqual(large);
    expect(patched(large, small)).toEqual(small);
  });
});
