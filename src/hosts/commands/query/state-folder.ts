import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../../../config/values.ts";
import { Reader } from "../../../database/reader.ts";
import { DATABASE_VERSION } from "../../../database/schema.ts";
import { DatabaseEntries } from "../../../names/database-entries.ts";
import type { EntryReader } from "../../../names/entries.ts";
import { openForReading } from "../../node/database/open-database.ts";
import { DATABASE_FILE } from "../../node/database/state-database.ts";

/** What a gateway has stored. */
export interface StoredState {
  /** Of the clusters that were live, with the order in which they came. */
  readonly entries: EntryReader;
  /** What could not be read. */
  readonly problems: readonly string[];
  close(): void;
}

/**
 * Opens the state folder of a gateway, which may be running: one state is read, whatever it goes on to write.
 * @throws {UsageError} if it is no state folder, or cannot be read
 */
export function openStateFolder(directory: string): StoredState {
  const path = join(directory, DATABASE_FILE);
  if (!existsSync(path))
    throw new UsageError(
      `--state-dir ${directory} is not the state folder of a gateway: it has no file ${DATABASE_FILE}`,
    );
  try {
    const database = openForReading(isOpened(path) ? path : `${pathToFileURL(path)}?immutable=1`);
    try {
      const problems: string[] = [];
      database.exec("BEGIN");
      const reader = new Reader(database, ({ cluster, key }) => {
        problems.push(`a row of cluster ${cluster} is damaged${key === undefined ? "" : `: ${key}`}`);
      });
      if (reader.meta("version") !== String(DATABASE_VERSION))
        throw new Error("another version of clusterset-doh wrote it");
      const live = reader.clusters().flatMap(({ id, state }) => (state === "live" ? id : []));
      return { entries: new DatabaseEntries(reader, live), problems, close: () => database.close() };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw new UsageError(`--state-dir ${directory} cannot be read: ${(error as Error).message}`);
  }
}

/** Whether a gateway has the database open, or ended without closing it. Otherwise reading must not write: the folder may be another user's. */
function isOpened(path: string): boolean {
  return existsSync(`${path}-wal`);
}
