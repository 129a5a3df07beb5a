import type { Database, Statement } from "../database/driver.ts";
import {
  type ChangedRows,
  type ClaimRow,
  type PartRow,
  type RowChange,
  RowTables,
} from "../database/row-change.ts";
import type { Applied, LogMark, Writer } from "../database/writer.ts";

type GoneRow = Pick<PartRow, "kind" | "name" | "part">;

/** Rows of one transaction, and characters of them beyond which it has no more. */
const MOST_ROWS = 256;
const MOST_CHARACTERS = 1024 * 1024;
/** The row of `meta` with the position and the cluster of the entry that is written in steps. */
const IN_STEPS = "inSteps";

/** Writes entries of a shared log in several transactions, each with whole entries of the cluster. */
export class RowSteps {
  readonly #database: Database;
  readonly #writer: Writer;
  readonly #rows: RowTables;
  readonly #setMeta: Statement;

  constructor(database: Database, writer: Writer) {
    this.#database = database;
    this.#writer = writer;
    this.#rows = new RowTables(database);
    this.#setMeta = database.prepare(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
  }

  /** The cluster of which half an entry is written, also after a crash; undefined for none. */
  get halfWritten(): string | undefined {
    const { reader } = this.#writer;
    const [position, cluster] = (reader.meta(IN_STEPS) ?? "0").split(" ");
    return Number(position) > reader.position() ? cluster : undefined;
  }

  /** Writes what an entry makes of rows. */
  *write(change: RowChange, mark: LogMark): Generator<void, Applied> {
    const { id } = change.cluster;
    // A cluster whose rows are all replaced would lack some in between.
    const parts = change.isCleared ? [change] : partsOf(change);
    for (const part of parts.slice(0, -1)) {
      this.#database.atomically(() => {
        this.#setMeta.run(IN_STEPS, `${mark.position} ${id}`);
        this.#rows.put(id, part);
      });
      yield;
    }
    return this.#writer.write({ ...change, ...parts.at(-1)! }, mark);
  }

  /** Forgets half an entry: all rows were replaced. */
  forget(): void {
    this.#setMeta.run(IN_STEPS, "0");
  }
}

/** Rows as they are written together, all of an entry in one part: one part at least. */
function partsOf({ entries, gone, claims }: RowChange): readonly ChangedRows[] {
  const parts: { entries: PartRow[]; gone: GoneRow[]; claims: ClaimRow[] }[] = [];
  let last = "";
  let room = 0;
  const partFor = (entry: string, characters: number) => {
    if (parts.length === 0 || (room <= 0 && entry !== last)) {
      parts.push({ entries: [], gone: [], claims: [] });
      room = MOST_CHARACTERS;
    }
    last = entry;
    room -= Math.max(characters, MOST_CHARACTERS / MOST_ROWS);
    return parts.at(-1)!;
  };
  const goneOf = Map.groupBy(gone, idOf);
  for (const row of entries) {
    const id = idOf(row);
    const part = partFor(id, row.text.length);
    part.entries.push(row);
    part.gone.push(...(goneOf.get(id) ?? []));
    goneOf.delete(id);
  }
  for (const [id, rows] of goneOf) partFor(id, 0).gone.push(...rows);
  for (const row of claims) partFor(row.bucket, row.text.length).claims.push(row);
  return parts.length === 0 ? [{ entries, gone, claims }] : parts;
}

function idOf({ kind, name }: GoneRow): string {
  return `${kind} ${name}`;
}
