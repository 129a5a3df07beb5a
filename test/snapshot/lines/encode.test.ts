import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/snapshot/json-value.ts";
import { diffJson, mergePatch } from "../../../src/snapshot/json-value.ts";
import { encodeChanges, encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { metaAt, NOON, patchLines, prepare, stage } from "../../database/pushing.ts";
import { applyPatch, holding, merged, readSnapshotLines } from "../changes.ts";
import { diffSnapshots } from "../diff-snapshots.ts";
import { headlessExport, shopSnapshot, snapshots } from "../worlds.ts";
import { concat, cutAt, headerLine, sealed } from "./push-lines.ts";

function textOf(lines: Iterable<Uint8Array>): string {
  return new TextDecoder().decode(concat(lines));
}

/** The snapshot after the lines of a patch. */
function patched(from: ClusterSnapshot, to: ClusterSnapshot): ClusterSnapshot {
  return applyPatch(from, diffSnapshots(from, to) ?? {});
}

const numbered = <Value>(count: number, entry: (index: number) => readonly [string, Value]) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => entry(index)));

/** A snapshot whose service has more of everything than a line may have. */
function largeSnapshot(): ClusterSnapshot {
  const { endpoints, ...exported } = headlessExport(2500);
  return {
    ...shopSnapshot("west"),
    exports: {
      "shop/web": {
        ...exported,
        exportedLabels: numbered(3000, (index) => [`label-${index}`, "x"]),
        exportedAnnotations: numbered(5, (index) => [`note-${index}`, `é${"\u0001".repeat(150_000)}`]),
        endpoints: {
          ...endpoints,
          ...numbered(2500, (index) => [`p${index}/TCP/1`, { ports: [], members: {} }]),
        },
      },
    },
    imports: {
      "shop/web": {
        ips: [],
        ports: [],
        endpoints: numbered(2100, (index) => [`c${index}`, index % 1000 === 1 ? endpoints : {}]),
      },
    },
  };
}

describe("a snapshot as lines", () => {
  const degraded = [{ reason: "API_UNREACHABLE", seconds: 5 }];

  test("has a header, with what the worker reports of itself, one line an entry, and a count and a hash", () => {
    const entries = [
      '["namespaces","shop",{}]',
      `["exports","shop/web",${JSON.stringify(headlessExport(1))}]`,
    ];
    const snapshot = shopSnapshot("west", 1);
    expect(textOf(encodeSnapshot(snapshot))).toBe(sealed(headerLine("west"), entries));
    expect(textOf(encodeSnapshot(snapshot, {}))).toBe(sealed(headerLine("west"), entries));
    const reported = headerLine("west", { degraded });
    expect(textOf(encodeSnapshot(snapshot, { degraded }))).toBe(sealed(reported, entries));
    const patch = { pods: null, namespaces: { a: undefined, b: null } };
    expect(textOf(encodeChanges("west", patch, { degraded }))).toBe(
      sealed(reported, '["namespaces","b",null]'),
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
    expect(textOf(encodeChanges("west", diffSnapshots(from, to)!))).toBe(
      sealed(
        headerLine("west"),
        '["exports","shop/web",{"endpoints":{"http/TCP/8080":{"members":{"10.0.0.7":{"ready":false}}}}}]',
      ),
    );
    expect(patched(from, to)).toEqual(to);
  });

  test("remove and add more than a line may have", () => {
    const large = largeSnapshot();
    const small = shopSnapshot("west");
    expect(patched(small, large)).toEqual(large);
    expect(patched(large, small)).toEqual(small);
  });
});

/** Paths of a patch that change nothing. */
function needless(from: unknown, patch: JsonObject, path = ""): string[] {
  return Object.entries(patch).flatMap(([name, change]) => {
    const before = (from as JsonObject | undefined)?.[name];
    const isPatch = typeof change === "object" && change !== null && !Array.isArray(change);
    if (isPatch && Object.keys(change).length > 0)
      return needless(before, change as JsonObject, `${path}/${name}`);
    const isChange =
      change === null ? before !== undefined : JSON.stringify(before) !== JSON.stringify(change);
    return isChange ? [] : [`${path}/${name}`];
  });
}

test("the difference of two snapshots is a merge patch (RFC 7396) that changes one into the other, and has nothing needless", () => {
  fc.assert(
    fc.property(snapshots, snapshots, (from, to) => {
      const patch = diffSnapshots(from, to) ?? {};
      expect(merged(from, patch)).toEqual(to);
      expect(needless(from, patch)).toEqual([]);
    }),
  );
  expect(diffJson({ a: undefined, b: 1 }, { b: 1 })).toBeUndefined();
  expect(diffJson({ b: 1 }, { a: undefined, b: 1 })).toBeUndefined();
  expect(diffJson({ a: 1 }, { a: undefined })).toStrictEqual({ a: null });
  expect(mergePatch([1, 2], { a: "b", c: null }), "appendix A").toEqual({ a: "b" });
});

test("a patch that changes nothing has no changes", () => {
  const { database, writer } = holding(shopSnapshot("west"));
  const ready = { endpoints: { "http/TCP/8080": { members: { "10.0.0.1": { ready: true } } } } };
  for (const exports of [{}, { "shop/web": ready }, { "shop/gone": null }]) {
    const staged = stage(writer.reader, "west", "changes", patchLines("west", { exports }));
    expect(prepare(writer, staged, metaAt(NOON), { now: NOON, live: true }).entries).toEqual([]);
  }
  database.close();
});
