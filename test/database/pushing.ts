import { KIND_OF, Kind } from "../../src/database/places.ts";
import type { Change } from "../../src/database/prepare.ts";
import type { Sight } from "../../src/database/ranks.ts";
import { entryValue, type Reader } from "../../src/database/reader.ts";
import type { ClusterMeta, Totals } from "../../src/database/schema.ts";
import { Stage, type Staged } from "../../src/database/stage.ts";
import type { Applied, Writer } from "../../src/database/writer.ts";
import { encodeChanges, encodeSnapshot } from "../../src/snapshot/lines/encode.ts";
import { LinesReader, type ReadLine } from "../../src/snapshot/lines/lines-reader.ts";
import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import { COLLECTIONS } from "../../src/snapshot/parse.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../src/snapshot/schema.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";

/** Any day. */
export const NOON = Date.UTC(2026, 5, 1, 12);

/** The meta of a push at a time. */
export function metaAt(now: number, generation = now) {
  return { generation, pushedAt: now, renewedAt: now, expiresAt: now + 60_000 };
}

/** The lines of a snapshot. */
export function wholeLines(snapshot: ClusterSnapshot): ReadLine[] {
  return linesIn(encodeSnapshot(snapshot));
}

/** The lines of a patch. */
export function patchLines(cluster: string, patch: SnapshotPatch): ReadLine[] {
  return linesIn(encodeChanges(cluster, patch));
}

function linesIn(pieces: Iterable<Uint8Array>): ReadLine[] {
  const reader = new LinesReader();
  const lines = [...pieces].flatMap((piece) => [...reader.feed(piece)]);
  reader.finish();
  return lines;
}

/** Lines as they are staged. @throws {SnapshotError} */
export function stage(
  reader: Reader,
  cluster: string,
  kind: Staged["kind"],
  lines: Iterable<ReadLine>,
): Staged {
  const staged = new Stage(reader, cluster, kind);
  for (const line of lines) staged.apply(line);
  return staged.finish();
}

/** What staged lines change, in one turn. */
export function prepare(writer: Writer, staged: Staged, meta: ClusterMeta, sight: Sight): Change {
  const steps = writer.prepare(staged, meta, sight, Number.POSITIVE_INFINITY);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Applies lines of a push. */
export function push(
  writer: Writer,
  cluster: string,
  kind: Staged["kind"],
  lines: Iterable<ReadLine>,
  sight: Sight = { now: NOON, live: true },
): Applied {
  const staged = stage(writer.reader, cluster, kind, lines);
  return writer.apply(prepare(writer, staged, metaAt(sight.now), sight));
}

/** All that a database has of a cluster. */
export function snapshotOf(reader: Reader, cluster: string): ClusterSnapshot {
  const snapshot = emptySnapshot(cluster) as ClusterSnapshot & Record<string, unknown>;
  for (const row of reader.all(cluster, Kind.single)) snapshot[row.name] = entryValue(row);
  for (const collection of COLLECTIONS)
    for (const row of reader.all(cluster, KIND_OF[collection])) {
      const table: Record<string, unknown> = snapshot[collection];
      if (row.texts[0] === "") continue;
      const isBucket = collection === "pods" || collection === "findings";
      if (isBucket) Object.assign(table, entryValue(row));
      else table[row.name] = entryValue(row);
    }
  return snapshot;
}

/** How much a snapshot has, by looking at all of it. */
export function totalsOf(snapshot: ClusterSnapshot): Totals {
  const { namespaces, exports, imports, services, pods, findings } = snapshot;
  const all = [...Object.values(exports), ...Object.values(imports), ...Object.values(services)];
  const groups: EndpointGroups[string][] = [
    ...Object.values(imports).flatMap(({ endpoints }) => Object.values(endpoints)),
    ...[...Object.values(exports), ...Object.values(services)].map(({ endpoints }) => endpoints),
  ].flatMap((one) => Object.values(one));
  const endpoints = groups.map(({ members }) => Object.keys(members).length);
  const ports = [
    ...all.map((one) => one.ports.length),
    ...Object.values(exports).map(({ nodes }) => nodes?.ports.length ?? 0),
    ...groups.map((group, index) => group.ports.length * endpoints[index]!),
  ];
  const metadata = Object.values(exports).flatMap(({ exportedLabels, exportedAnnotations }) =>
    Object.entries({ ...exportedLabels })
      .concat(Object.entries({ ...exportedAnnotations }))
      .flat(),
  );
  const tables: readonly object[] = [namespaces, exports, imports, services, pods, findings];
  return {
    namespaces: Object.keys(namespaces).length,
    exports: Object.keys(exports).length,
    imports: Object.keys(imports).length,
    services: Object.keys(services).length,
    pods: Object.keys(pods).length,
    findings: Object.keys(findings).length,
    endpoints: sum(endpoints),
    ports: sum(ports),
    metadataCharacters: sum(metadata.map((text) => text.length)),
    // Each entry with its key, a colon and a comma.
    characters: sum(
      tables
        .flatMap((table) => Object.entries(table))
        .map((entry) => JSON.stringify(Object.fromEntries([entry])).length - 1),
    ),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
