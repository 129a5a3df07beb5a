import { ClusterMeta } from "../cluster-meta.ts";
import type { SharedCluster } from "../shared/shared-log.ts";
import type { RedisConnection } from "./connection.ts";
import type { LogKeys } from "./keys.ts";
import { RECORD_NOW } from "./log-scripts.ts";

/** What the engine has of a cluster beside its entries. */
export interface ClusterRecord {
  /** Of its newest entry in the log. */
  readonly id: string;
  readonly position: number;
  /** Milliseconds since the lease was renewed, by the engine's clock. */
  readonly elapsed: number;
  /** The key of the entries ends with it; undefined, as the meta, for a cluster that went. */
  readonly version: string | undefined;
  readonly meta: ClusterMeta | undefined;
  readonly gone: SharedCluster["gone"];
  /** Whether the part that names entries and meta cannot be read. */
  readonly isDamaged: boolean;
}

/**
 * The id of the newest entry, the time of the last renewal, the length of the lease; then the version of the entries, or `!left:<generation>` or `!expired`, and the last
 * meta. `APPEND` writes it.
 */
const RECORD = /^((\d+)-\S+) (\d+) \d+ (.*)$/s;
const STATE = /^(\S+) (.*)$/s;
const GONE = /^!(left|expired)(?::(\d+))?$/;

/** The part of a record that a gateway writes. */
export function recordText(version: string, meta: ClusterMeta): string {
  return `${version} ${JSON.stringify(meta)}`;
}

/** The same of a cluster that leaves. */
export function leftText(generation: number): string {
  return `:${generation}`;
}

/** Reads the record of a cluster; undefined if there is none, or none that shows an id. @throws {StoreError} */
export async function readRecord(
  connection: RedisConnection,
  keys: LogKeys,
  clusterId: string,
): Promise<ClusterRecord | undefined> {
  const reply = await connection.script(RECORD_NOW, [keys.clusters], [clusterId]);
  const [text, now] = reply as [string, string];
  const [, id, position, renewed, rest] = RECORD.exec(text) ?? [];
  if (id === undefined) return undefined;
  const elapsed = Math.max(0, Number(now) - Number(renewed));
  const nothing = { id, position: Number(position), elapsed, version: undefined, meta: undefined };
  const [, state, json] = STATE.exec(rest!) ?? [];
  try {
    const meta = json === "" ? undefined : ClusterMeta.parse(JSON.parse(json!));
    const [, why, left] = GONE.exec(state!) ?? [];
    if (why === "left" || why === "expired") {
      const gone = { why, meta, generation: Number(left ?? meta?.generation ?? 0) } as const;
      return { ...nothing, gone, isDamaged: false };
    }
    if (meta === undefined) throw new Error("it has no meta");
    return { ...nothing, version: state, meta, gone: undefined, isDamaged: false };
  } catch {
    return { ...nothing, gone: undefined, isDamaged: true };
  }
}
