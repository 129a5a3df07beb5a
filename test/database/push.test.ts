import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Stage } from "../../src/database/stage.ts";
import type { PatchLine } from "../../src/snapshot/lines/patch-line.ts";
import {
  COLLECTIONS,
  formatPath,
  MOST_ISSUES,
  parseSnapshot,
  SnapshotError,
  type SnapshotIssue,
} from "../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { expectMet } from "../property-share.ts";
import { merged, patchOf, readLines } from "../snapshot/changes.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { emptySnapshot, headlessExport, shopSnapshot, snapshots } from "../snapshot/worlds.ts";
import { openWriter } from "./databases.ts";
import {
  metaAt,
  NOON,
  patchLines,
  prepare,
  push,
  snapshotOf,
  stage,
  totalsOf,
  wholeLines,
} from "./pushing.ts";

const value = fc.constantFrom<unknown>(null, {}, [], 1, "x", { ready: false }, { address: "10.0.0.9" });
const groupPatch = fc.dictionary(
  fc.constantFrom("ports", "members", "other"),
  fc.oneof(
    { weight: 1, arbitrary: value },
    {
      weight: 4,
      arbitrary: fc.dictionary(
        fc.constantFrom("10.0.0.1", "10.0.0.2#a", "10.0.0.9", "a b"),
        fc.oneof(value, fc.record({ address: fc.constant("10.0.0.2"), ready: fc.boolean() })),
        { maxKeys: 3, noNullPrototype: true },
      ),
    },
    { weight: 2, arbitrary: fc.constant([{ name: "http", protocol: "TCP", port: 8 }]) },
  ),
  { maxKeys: 2, noNullPrototype: true },
);
const groupsPatch = fc.dictionary(
  fc.constantFrom("*", "http/TCP/80", "east", "bad key"),
  fc.oneof({ weight: 5, arbitrary: groupPatch }, value),
  { maxKeys: 2, noNullPrototype: true },
);
const entryPatch = fc.oneof(
  fc.dictionary(
    fc.constantFrom("endpoints", "headless", "ports", "exportedLabels", "ips", "exportedAt", "other"),
    fc.oneof(value, groupsPatch, groupsPatch, fc.boolean(), fc.constant("2024-01-01T00:00:00Z")),
    { maxKeys: 3, noNullPrototype: true },
  ),
  fc.constant(null),
);
const line: fc.Arbitrary<PatchLine> = fc.oneof(
  fc.tuple(
    fc.constantFrom("exports", "imports", "services", "namespaces", "pods", "findings"),
    fc.constantFrom("shop/web", "shop/db", "shop", "NoService/shop/gone", "a b"),
    entryPatch,
  ) as fc.Arbitrary<PatchLine>,
  fc.tuple(fc.constantFrom("topology", "clusterZone"), entryPatch) as fc.Arbitrary<PatchLine>,
);

it("takes lines that leave each entry valid, as RFC 7396 merges them, and names what is wrong in the others", () => {
  let runs = 0;
  let taken = 0;
  fc.assert(
    fc.property(
      snapshots,
      snapshots,
      fc.array(line, { maxLength: 4 }),
      fc.constantFrom("whole" as const, "changes" as const),
      fc.boolean(),
      (held, next, more, kind, isSame) => {
        const { database, writer } = openWriter();
        push(writer, "west", "whole", wholeLines(held));
        const begin =
          kind === "whole"
            ? wholeLines(isSame ? held : next)
            : patchLines("west", diffSnapshots(held, next) ?? {});
        const lines = [...begin.map(({ change }) => change), ...more];
        const expected = outcomeOf(kind === "whole" ? emptySnapshot("west") : held, lines);
        const found = outcome(() => {
          push(writer, "west", kind, readLines(lines));
          return snapshotOf(writer.reader, "west");
        });
        // An error lists so many issues at most.
        if ("issues" in found && Number(found.total) > MOST_ISSUES)
          expect(expected).toEqual({ total: found.total, issues: expect.arrayContaining(found.issues) });
        else expect(found).toEqual(expected);
        runs++;
        if (!("issues" in expected)) taken++;
        database.close();
      },
    ),
    { numRuns: 500 },
  );
  expectMet(taken, runs / 2);
});

it("a line that removes what an entry must have, and adds to it, is an error of that field", () => {
  const { database, writer } = openWriter();
  const web = { ...headlessExport(1), endpoints: {} };
  push(writer, "west", "whole", wholeLines({ ...emptySnapshot("west"), exports: { "shop/web": web } }));
  const wrong: PatchLine = ["exports", "shop/web", { exportedLabels: {}, endpoints: null }];
  const found = outcome(() => {
    push(writer, "west", "changes", readLines([wrong]));
    return snapshotOf(writer.reader, "west");
  });
  expect(found).toMatchObject({ issues: [{ path: 'exports["shop/web"].endpoints', line: 2 }] });
  database.close();
});

/**
 * What lines do, each merged and then validated with its whole entry; an entry that is wrong takes no more of
 * them.
 */
function outcomeOf(before: ClusterSnapshot, lines: readonly PatchLine[]): object {
  let snapshot: unknown = before;
  const issues: SnapshotIssue[] = [];
  const failed = new Set<string>();
  for (const [index, change] of lines.entries()) {
    const entry = JSON.stringify(change.slice(0, -1));
    if (failed.has(entry)) continue;
    const patched = merged(snapshot, patchOf(change));
    const found = [...issuesOf(patched), ...unknownNames(change)];
    if (found.length === 0) snapshot = patched;
    else {
      failed.add(entry);
      const texts = new Map(found.map((issue) => [`${issue.path} ${issue.message}`, issue]));
      for (const issue of texts.values()) issues.push({ ...issue, line: index + 2 });
    }
  }
  return issues.length > 0 ? { issues: sorted(issues), total: issues.length } : (snapshot as ClusterSnapshot);
}

/**
 * Names that no value may have, of services: they are wrong also where they are set to null, which changes
 * nothing.
 */
function unknownNames(change: PatchLine): SnapshotIssue[] {
  const isService = change[0] === "exports" || change[0] === "imports" || change[0] === "services";
  if (!isService || change[2] === null) return [];
  return issuesOf({ ...emptySnapshot("west"), ...patchOf(change) }).filter(({ message }) =>
    /^is not a (known field|valid key)/.test(message),
  );
}

function issuesOf(value: unknown): readonly SnapshotIssue[] {
  const found = outcome(() => parseSnapshot(value));
  return "issues" in found
    ? (found.issues as SnapshotIssue[]).flatMap((issue) => [issue, ...below(issue, value)])
    : [];
}

/** What is wrong with an entry whose key is wrong. */
function below({ path, message }: SnapshotIssue, value: unknown): readonly SnapshotIssue[] {
  const collection = COLLECTIONS.find((name) => path.startsWith(name));
  if (collection === undefined || !message.startsWith("is not a valid key")) return [];
  const entries = Object.entries((value as ClusterSnapshot)[collection] ?? {});
  const [, entry] = entries.find(([key]) => formatPath([collection, key]) === path) ?? [];
  if (entry === undefined) return [];
  const good = collection === "namespaces" ? "good" : "good/good";
  const found = issuesOf({ ...emptySnapshot("west"), [collection]: { [good]: entry } });
  const prefix = formatPath([collection, good]);
  return found.map((issue) => ({ ...issue, path: path + issue.path.slice(prefix.length) }));
}

function sorted(issues: readonly SnapshotIssue[]): SnapshotIssue[] {
  const texts = (issue: SnapshotIssue) => JSON.stringify([issue.line, issue.path, issue.message]);
  return issues.toSorted((one, other) => (texts(one) < texts(other) ? -1 : 1));
}

function outcome(run: () => ClusterSnapshot): ClusterSnapshot | { issues: SnapshotIssue[]; total: number } {
  try {
    return run();
  } catch (error) {
    if (error instanceof SnapshotError) return { issues: sorted(error.issues), total: error.total };
    throw error;
  }
}

it("a patch of an entry in many parts is RFC 7396, and writes only the parts that it changes", () => {
  const name = (index: number) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const ports = (count: number) =>
    Array.from({ length: count }, () => ({ name: "http", protocol: "TCP", port: 8080 }));
  const ready = fc.oneof(fc.boolean(), fc.constant(null));
  const change = fc.record({ index: fc.integer({ min: 0, max: 3500 }), ready });
  fc.assert(
    fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 12 }), { maxLength: 6 }), (patches) => {
      const { database, writer } = openWriter();
      let snapshot: ClusterSnapshot = {
        ...shopSnapshot("west"),
        exports: { "shop/web": headlessExport(3000) },
      };
      push(writer, "west", "whole", wholeLines(snapshot));
      const texts = () => writer.reader.rowsOf("shop/web")[0]!.texts;
      expect(texts()).toHaveLength(4);
      for (const changes of patches) {
        const next = structuredClone(snapshot);
        const { endpoints } = next.exports["shop/web"]!;
        const large = endpoints["http/TCP/8080"]!;
        for (const { index, ready } of changes) {
          // Another group in each tenth change, which has its ports in a later part.
          const odd = `odd-${index % 3}/TCP/1`;
          if (index % 10 === 0) endpoints[odd] ??= { ports: ports(1 + (index % 4)), members: {} };
          const group = endpoints[odd];
          if (group !== undefined && index % 7 === 0) group.members[name(index)] = { address: name(index) };
          if (group !== undefined && index % 50 === 0) group.ports = group.ports.slice(1);
          // A group whose members are in all parts.
          if (index % 9 === 0) large.ports = ports(index % 4);
          if (ready === null) delete large.members[name(index)];
          else large.members[name(index)] = { address: name(index), ready };
        }
        const patch = diffSnapshots(snapshot, next);
        if (patch === undefined) continue;
        const before = texts();
        push(writer, "west", "changes", patchLines("west", patch));
        expect(isDeepStrictEqual(snapshotOf(writer.reader, "west"), next)).toBe(true);
        const { characters: _, ...totals } = writer.reader.cluster("west")!.totals;
        expect(totalsOf(next)).toMatchObject(totals);
        const changed = texts().filter((text, part) => text !== before[part]).length;
        // Of the member, of its group's ports, and of another group.
        expect(changed).toBeLessThanOrEqual(3 * changes.length);
        snapshot = next;
      }
      database.close();
    }),
    { numRuns: 15 },
  );
});

it("finds a member whose name was sent with escapes", () => {
  const { database, writer } = openWriter();
  const snapshot = shopSnapshot("west", 2500);
  const escaped = wholeLines(snapshot).map((one) => ({
    ...one,
    text: one.text.replaceAll("10.0.8.1", "10.0.8.\\u0031"),
  }));
  push(writer, "west", "whole", escaped);
  const members = { "10.0.8.1": { ready: false }, "10.0.8.10": null };
  const patch = { exports: { "shop/web": { endpoints: { "http/TCP/8080": { members } } } } };
  push(writer, "west", "changes", patchLines("west", patch));
  const found = snapshotOf(writer.reader, "west").exports["shop/web"]!.endpoints["http/TCP/8080"]!.members;
  expect([found["10.0.8.1"], found["10.0.8.10"], Object.keys(found).length]).toEqual([
    { address: "10.0.8.1", hostname: "web-2049", ready: false },
    undefined,
    2499,
  ]);
  database.close();
});

it("pushing the same again writes no row, in whatever order and form it comes", () => {
  const { database, writer } = openWriter();
  const snapshot = { ...shopSnapshot("west", 2500), pods: { "shop/10.0.0.1": {}, "shop/10.0.0.2": {} } };
  const lines = wholeLines(snapshot);
  push(writer, "west", "whole", lines);
  const position = writer.reader.position();
  const spaced = lines.map((one) => ({ ...one, text: `${JSON.stringify(one.change, null, 1)}\n` }));
  const isExport = ({ change }: (typeof lines)[0]) => change[0] === "exports";
  const others = lines.filter((one) => !isExport(one)).reverse();
  for (const again of [lines, [...others, ...lines.filter(isExport)], spaced]) {
    const staged = stage(writer.reader, "west", "whole", again);
    const change = prepare(writer, staged, metaAt(1), { now: 1, live: true });
    expect(change.entries).toEqual([]);
    expect(writer.apply(change).position).toBe(position);
  }
  database.close();
});

it("many findings of one object have several rows, none above what a Durable Object takes, and are counted one by one", () => {
  const { database, writer } = openWriter();
  const message = "x".repeat(4000);
  const about = { kind: "EndpointSlice", namespace: "shop", name: "web" };
  const finding = (index: number, text: string) => ({
    [`Odd${index}/shop/web/slice`]: { ...about, reason: `Odd${index}`, message: text },
  });
  const findings = Object.assign({}, ...Array.from({ length: 700 }, (_, index) => finding(index, message)));
  const held = { ...emptySnapshot("west"), findings };
  push(writer, "west", "whole", wholeLines(held));
  const next = { ...held, findings: { ...findings, ...finding(300, "less"), ...finding(701, "more") } };
  delete next.findings["Odd5/shop/web/slice"];
  push(writer, "west", "changes", patchLines("west", diffSnapshots(held, next)!));
  expect(snapshotOf(writer.reader, "west")).toEqual(next);
  expect(writer.reader.cluster("west")!.totals).toEqual(totalsOf(next));
  const rows = database.prepare("SELECT max(length(text)) AS longest, count(*) AS count FROM entry").get()!;
  expect(Number(rows.count)).toBeGreaterThan(50);
  expect(Number(rows.longest)).toBeLessThan(64 * 1024);
  database.close();
});

it("large entries are compared one in a step, whole or as changes", () => {
  const { writer } = openWriter();
  const large = (text: string) => {
    const service = { ...headlessExport(0), exportedAnnotations: { text: text.repeat(70_000) } };
    const exports = Object.fromEntries(["s0", "s1", "s2", "s3"].map((name) => [`a/${name}`, service]));
    return { ...emptySnapshot("west"), namespaces: { a: {} }, exports };
  };
  push(writer, "west", "whole", wholeLines(large("x")));
  for (const [kind, lines] of [
    ["whole", wholeLines(large("y"))],
    ["changes", patchLines("west", { exports: large("y").exports })],
  ] as const) {
    const staged = stage(writer.reader, "west", kind, lines);
    const steps = writer.prepare(staged, metaAt(NOON), { now: NOON, live: true }, Number.POSITIVE_INFINITY);
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThanOrEqual(4);
  }
});

it("a line says how much was read for it: that of a row of pods once, for all lines that change it", () => {
  const { writer } = openWriter();
  const pods = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`a/10.0.0.${at}`, {}]));
  push(writer, "west", "whole", wholeLines({ ...emptySnapshot("west"), pods }));
  const staged = new Stage(writer.reader, "west", "changes");
  const lines = patchLines("west", { pods: { "a/10.0.0.1": null } });
  const [first, again] = [...lines, ...lines].map((line) => staged.apply(line));
  expect([first! > 10, again]).toEqual([true, 0]);
});
