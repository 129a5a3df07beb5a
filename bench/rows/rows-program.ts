import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Reader } from "../../src/database/reader.ts";
import { Stage } from "../../src/database/stage.ts";
import { Writer } from "../../src/database/writer.ts";
import { openDatabase } from "../../src/hosts/node/database/open-database.ts";
import { encodeSnapshot } from "../../src/snapshot/lines/encode.ts";
import { LinesReader } from "../../src/snapshot/lines/lines-reader.ts";
import { residentMemory } from "../processes/resident-memory.ts";
import { keyOf, wideSnapshots, wideWorld } from "../worlds/wide-world.ts";

/** What taking a world costs: CPU seconds, bytes, and CPU microseconds. */
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
  readonly peakMemory: number;
  readonly fileBytes: number;
  /** Microseconds of CPU to read the rows of one key. */
  readonly key: number;
}

const PIECE = 64 * 1024;

const world = wideWorld(Number(process.argv[2]));
const folder = mkdtempSync(join(tmpdir(), "rows-"));
const path = join(folder, "state.db");

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

const database = openDatabase(path);
const writer = new Writer(database, () => {});
const cost = { read: 0, validate: 0, prepare: 0, write: 0, again: 0 };
const begin = Date.now();

function push(clusterId: string, bytes: Uint8Array, isAgain: boolean): void {
  const spent = { at: cpuSeconds() };
  const lap = (name: keyof typeof cost) => {
    const now = cpuSeconds();
    cost[isAgain ? "again" : name] += now - spent.at;
    spent.at = now;
  };
  if (!isAgain) {
    const alone = new LinesReader();
    for (const piece of pieces(bytes)) for (const _ of alone.feed(piece));
    lap("read");
  }
  const alone = cost.read;
  const reader = new LinesReader();
  const stage = new Stage(writer.reader, clusterId, "whole");
  for (const piece of pieces(bytes)) for (const line of reader.feed(piece)) stage.apply(line);
  const staged = stage.finish();
  lap("validate");
  const now = Date.now();
  const meta = { generation: now, pushedAt: now, renewedAt: now, expiresAt: now + 3_600_000 };
  const change = writer.prepare(staged, meta, { now, live: isAgain });
  lap("prepare");
  writer.apply(change);
  lap("write");
  void alone;
}

for (const isAgain of [false, true])
  for (const snapshot of wideSnapshots(world)) {
    const lines = Buffer.concat([...encodeSnapshot(snapshot)]);
    push(snapshot.clusterId, lines, isAgain);
  }
// The lines were read twice.
cost.validate -= cost.read;
const reader = new Reader(database, () => {});
const READS = 5000;
for (let read = 0; read < READS; read++) reader.rowsOf(keyOf((read * 7919) % world.services));
const before = cpuSeconds();
for (let read = 0; read < READS; read++) reader.rowsOf(keyOf((read * 6151) % world.services));
const key = ((cpuSeconds() - before) / READS) * 1e6;
const { peak } = residentMemory(process.pid);
database.close();
const result: RowsCost = { ...cost, peakMemory: peak, fileBytes: statSync(path).size, key };
rmSync(folder, { recursive: true });
console.log(JSON.stringify(result));
void begin;
