import { NoteTable } from "../../../src/store/rows/note-table.ts";
import { PartTable } from "../../../src/store/rows/part-table.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { StoredGenerations } from "../../../src/transfer/stored/stored-generations.ts";
import { StoredParts } from "../../../src/transfer/stored/stored-parts.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { partsOf } from "../parts/keeper-world.ts";

/** What a gateway knows of a generation that it keeps. */
export const FACTS = {
  services: 120,
  clusters: [{ clusterId: "west", generation: 3, exports: 120, imports: 0 }],
};

/** Stored generations as a process over a database has them. */
export function startStored(database: SqlDatabase = sqliteDouble(), settings = "settings") {
  const held = { now: 1_000_000 };
  const damaged: string[] = [];
  const table = new PartTable(database);
  const parts = new StoredParts(table, ({ hash, message }) => void damaged.push(`${hash} ${message}`));
  const noteTable = new NoteTable(database);
  const generations = new StoredGenerations({
    ...{ table, parts, settings, clock: () => held.now, noteTable },
  });
  const stored = () => new Set(table.hashes());
  return { database, held, damaged, table, parts, noteTable, generations, stored };
}

/** The hashes of all parts of a generation. */
export function hashesIn(generation: Generation): Set<string> {
  const { pages, segments } = partsOf(generation);
  const { rootHash, names, reverse, frame, stems } = generation;
  const top = [rootHash, ...[names, reverse, frame, stems].map(({ hash }) => hash)];
  return new Set([...top, ...pages.keys(), ...segments.keys()]);
}
