import { RecordType } from "../../dns/codes.ts";
import {
  type FoldedName,
  isAboveZone,
  labelText,
  startOfZone,
  type ZoneName,
} from "../../dns/folded-name.ts";
import { isAnsweredClass, isQuery, type Query, readPlainQuery, readQuery } from "../../resolve/query.ts";

/** The most labels between `svc` and the zone: a region, and a topology zone in it. */
const MOST_PLACE_LABELS = 2;

/**
 * Reads a query that may be forwarded. Undefined for malformed queries, other EDNS
 * versions, other classes and zone transfers, which the gateway itself rejects.
 */
export function readForwardable(message: Uint8Array): Query | undefined {
  let query = readPlainQuery(message);
  if (query === undefined) {
    if (!isQuery(message)) return undefined;
    const read = readQuery(message);
    if ("code" in read) return undefined;
    query = read;
  }
  if (query.edns !== undefined && query.edns.version !== 0) return undefined;
  if (!isAnsweredClass(query.class)) return undefined;
  const { type } = query;
  return type === RecordType.OPT || type === RecordType.AXFR || type === RecordType.IXFR ? undefined : query;
}

/**
 * The registration of a name's federation. The name is at or below `<federation>.svc.<zone>`,
 * `<federation>.svc.<region>.<zone>` or `<federation>.svc.<topology zone>.<region>.<zone>`.
 */
export function matchFederation<Registered>(
  zones: readonly ZoneName[],
  registered: ReadonlyMap<string, Registered>,
  name: FoldedName,
): Registered | undefined {
  for (const zone of zones) {
    const last = name.labels - zone.labels - 1;
    if (last < 1 || startOfZone(name, zone) < 0) continue;
    for (let svc = last; svc >= Math.max(1, last - MOST_PLACE_LABELS); svc--) {
      if (labelText(name, svc) !== "svc") continue;
      const found = registered.get(labelText(name, svc - 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Whether a name can be an ancestor of a federation's names: it is above a zone of federations, or between that zone and a federation, where any
 * region and topology zone may be.
 */
export function isAboveFederations(zones: readonly ZoneName[], name: FoldedName): boolean {
  return zones.some((zone) => {
    if (isAboveZone(name, zone)) return true;
    const before = name.labels - zone.labels;
    if (before > MOST_PLACE_LABELS + 1 || startOfZone(name, zone) < 0) return false;
    return before <= MOST_PLACE_LABELS || labelText(name, 0) === "svc";
  });
}
