import { isJsonObject, type JsonObject, ownMember, PROTOTYPE_KEY } from "../snapshot/json-value.ts";
import type { PatchLine } from "../snapshot/lines/patch-line.ts";
import { COLLECTIONS, type Entries, parseInSteps, parseSnapshot } from "../snapshot/parse.ts";
import { type ClusterSnapshot, SNAPSHOT_FORMAT_VERSION } from "../snapshot/schema.ts";

/** A snapshot that is put together from lines, in place. */
export class SnapshotDraft {
  readonly #value: Record<string, unknown>;

  constructor(clusterId: string) {
    const tables = COLLECTIONS.map((collection) => [collection, {}]);
    this.#value = { formatVersion: SNAPSHOT_FORMAT_VERSION, clusterId, ...Object.fromEntries(tables) };
  }

  /** Applies a line, which must not be used afterwards. @throws {Error} for one that no snapshot can have */
  apply(line: PatchLine): void {
    const name = line.length === 2 ? line[0] : line[1];
    const table = line.length === 2 ? this.#value : (this.#value[line[0]] as Entries | undefined);
    if (table === undefined || name === PROTOTYPE_KEY) throw new Error(`there is no ${line[0]}`);
    mergeMember(table, name, line.at(-1));
  }

  /**
   * The snapshot, validated in steps; the draft is of no use afterwards.
   * @throws {SnapshotError} naming each field that is wrong
   */
  parseInSteps(): Generator<void, ClusterSnapshot> {
    return parseInSteps(this.#value, { consume: true });
  }

  /** The same in one turn. */
  parse(): ClusterSnapshot {
    return parseSnapshot(this.#value, { consume: true });
  }
}

/** Applies an RFC 7396 merge patch to a value, which is changed in place. @throws {Error} for a member `__proto__` */
export function mergeInPlace(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged = isJsonObject(target) ? (target as Record<string, unknown>) : {};
  for (const name of Object.keys(patch)) {
    if (name === PROTOTYPE_KEY) throw new Error(`there is no ${name}`);
    mergeMember(merged, name, patch[name]);
  }
  return merged;
}

function mergeMember(object: Record<string, unknown>, name: string, patch: unknown): void {
  if (patch === null) delete object[name];
  else object[name] = mergeInPlace(ownMember(object as JsonObject, name), patch);
}
