import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServeConfig } from "../../src/config/settings.ts";
import { Reader } from "../../src/database/reader.ts";
import { Stage } from "../../src/database/stage.ts";
import { Writer } from "../../src/database/writer.ts";
import { systemClock } from "../../src/gateway/clock.ts";
import { Gateway } from "../../src/gateway/gateway.ts";
import { openDatabase } from "../../src/hosts/node/database.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { encodeChanges, encodeSnapshot } from "../../src/snapshot/lines/encode.ts";
import { LinesReader } from "../../src/snapshot/lines/lines-reader.ts";
import { prepare } from "../../test/database/pushing.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import {
  keyOf,
  memberPatch,
  servicesOf,
  wideEndpoint,
  wideQuery,
  wideSnapshots,
  wideWorld,
} from "../worlds/wide-world.ts";

/**
 * What taking a world costs: CPU seconds, CPU microseconds of one change and of reading one key, and bytes.
 */
export interface RowsCost {
  /** Reading the lines, alone. */
  readonly read: number;
  /** Validating them. */
  readonly validate: number;
  /** Comparing with what is there, and ranking. */
  readonly prepare: number;
  /** Writing the rows and the log, and committing. */
  readonly write: number;
  /** All of it, for the same state again. */
  readonly again: number;
  /** One changed endpoint, from its bytes to the commit. */
  readonly change: number;
  readonly key: number;
  /** A query whose key is not compiled yet: select, parse, merge, compile, answer. */
  readonly cold: number;
  /** The same once more. */
  readonly warm: number;
  /** From opening the file to the first right answer, in milliseconds by the clock. */
  readonly start: number;
  readonly peakMemory: number;
  readonly fileBytes: number;
}

const { limits, lease } = ServeConfig.parse({});
const PIECE = 64 * 1024;
const REPEATS = 2000;
const HOUR = 3_600_000;

const world = wideWorld(Number(process.argv[2]));
const folder = mkdtempSync(join(tmpdir(), "rows-"));
const path = join(folder, "state.db");
const database = openDatabase(path);
const writer = new Writer(database, (damage) => {
  throw new Error(`damage: ${JSON.stringify(damage)}`);
});

/** Seconds of CPU that some work takes. */
function timed(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function* linesIn(bytes: Uint8Array) {
  const lines = new LinesReader();
  for (let at = 0; at < bytes.length; at += PIECE) yield* lines.feed(bytes.subarray(at, at + PIECE));
  lines.finish();
}

function staged(cluster: string, kind: "whole" | "changes", bytes: Uint8Array) {
  const stage = new Stage(writer.reader, cluster, kind);
  for (const line of linesIn(bytes)) stage.apply(line);
  return stage.finish();
}

function prepared(given: ReturnType<typeof staged>) {
  const now = Date.now();
  const meta = { generation: now, pushedAt: now, renewedAt: now, expiresAt: now + HOUR };
  return prepare(writer, given, meta, { now, live: true });
}

const cost = { read: 0, validate: 0, prepare: 0, write: 0, again: 0 };
for (const snapshot of wideSnapshots(world)) {
  const bytes = Buffer.concat([...encodeSnapshot(snapshot)]);
  const read = timed(() => {
    for (const _ of linesIn(bytes));
  });
  let given!: ReturnType<typeof staged>;
  let change!: ReturnType<typeof prepared>;
  cost.read += read;
  cost.validate +=
    timed(() => {
      given = staged(snapshot.clusterId, "whole", bytes);
    }) - read;
  cost.prepare += timed(() => {
    change = prepared(given);
  });
  cost.write += timed(() => void writer.apply(change));
}
const { peak: peakMemory } = residentMemory(process.pid);
for (const snapshot of wideSnapshots(world)) {
  const bytes = Buffer.concat([...encodeSnapshot(snapshot)]);
  cost.again += timed(() => void writer.apply(prepared(staged(snapshot.clusterId, "whole", bytes))));
}

const services = [...servicesOf(world, 0)];
const patches = Array.from({ length: REPEATS }, (_, number) => {
  const service = services[(number * 7919) % services.length]!;
  const [member, endpoint] = wideEndpoint(world, 0, service, number % 5);
  const exports = { [keyOf(service)]: memberPatch({ [member]: { ...endpoint, ready: number % 2 === 0 } }) };
  return Buffer.concat([...encodeChanges("cluster-1", { exports })]);
});
const changes = timed(() => {
  for (const bytes of patches) writer.apply(prepared(staged("cluster-1", "changes", bytes)));
});
const reader = new Reader(database, () => {});
const read = (stride: number) => {
  for (let number = 0; number < REPEATS; number++) reader.rowsOf(keyOf((number * stride) % world.services));
};
read(7919);
const key = (timed(() => read(6151)) / REPEATS) * 1e6;
/** Each service once: those with an even or an odd number. */
const half = Math.floor(world.services / 2);
const queriesFrom = (first: 0 | 1) =>
  Array.from({ length: Math.min(REPEATS, half) }, (_, number) =>
    wideQuery(2 * ((number * 7919) % half) + first),
  );
const queries = queriesFrom(0);
database.close();
const started = performance.now();
const again = openDatabase(path);
const fail = () => {
  throw new Error("damage");
};
const gateway = new Gateway({
  writer: new Writer(again, fail),
  reader: new Reader(again, fail),
  clock: systemClock,
  names: { zones: {}, merging: {} },
  queries: { resolve: () => undefined, notReady: () => undefined },
  limits: { ...limits, lease },
  onEvent: () => {},
});
function answer(query: Uint8Array): void {
  const now = Date.now();
  const { world, leases } = gateway.everything.current(now)!;
  const context = { world, leases, now, rotation: 0, view: undefined, outside: "refuse" } as const;
  if (resolve(query, context)?.outcome !== "answer") throw new Error("no answer");
}
answer(queries.at(-1)!);
const start = performance.now() - started;
// Others, so that the code is compiled.
queriesFrom(1).forEach(answer);
const answerAll = () => (timed(() => queries.forEach(answer)) / queries.length) * 1e6;
const cold = answerAll();
const warm = answerAll();
again.close();
const fileBytes = statSync(path).size;
rmSync(folder, { recursive: true });
const result: RowsCost = {
  ...cost,
  change: (changes / REPEATS) * 1e6,
  key,
  cold,
  warm,
  start,
  peakMemory,
  fileBytes,
};
console.log(JSON.stringify(result));
