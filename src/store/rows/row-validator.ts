import { SnapshotDraft } from "../snapshot-draft.ts";
import { linesOfRow } from "./entry-rows.ts";

/** Rows that are validated together. */
const ROWS_AT_ONCE = 64;

/** Validates the rows of a cluster, some of them at a time. */
export class RowValidator {
  readonly #clusterId: string;
  #draft: SnapshotDraft;
  #count = 0;

  constructor(clusterId: string) {
    this.#clusterId = clusterId;
    this.#draft = new SnapshotDraft(clusterId);
  }

  /** Adds a row. @throws {SnapshotError} for this one, or for one before */
  take({ name, text }: { readonly name: string; readonly text: string }): void {
    for (const line of linesOfRow(name, JSON.parse(text))) this.#draft.apply(line);
    if (++this.#count % ROWS_AT_ONCE === 0) this.end();
  }

  /** To be called after the last row. @throws {SnapshotError} */
  end(): void {
    this.#draft.parse();
    this.#draft = new SnapshotDraft(this.#clusterId);
  }
}
