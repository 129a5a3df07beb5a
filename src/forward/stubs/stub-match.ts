import { RecordType } from "../../dns/codes.ts";
import {
  type FoldedName,
  isAboveZone,
  labelText,
  startOfZone,
  type ZoneName,
} from "../../dns/folded-name.ts";
import { isAnsweredClass, isQuery, type Query, readPlainQuery, readQuery } from "../../resolve/query.ts";

/** A region, and a topology zone in it, may stand between `svc` and the zone. */
const MOST_PLACE_LABELS = 2;

/**
 * Reads a query that may be forwarded. Undefined for what is no name server's business: malformed queries, other EDNS
 * versions, classes and zone transfers, which the gateway itself refuses.
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
 * What is registered for the federation that a name is of: `<federation>.svc.<zone>` or a name below,
 * `<federation>.svc.<region>.<zone>` and `<federation>.svc.<topology zone>.<region>.<zone>` likewise.
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
 * Whether names below a name can be those of a federation: it is above a zone that federations are below, or between the two, where any region
 * and topology zone may be.
 */
export function isAboveFederations(zones: readonly ZoneName[], name: FoldedName): boolean {
  return zones.some((zone) => {
    if (isAboveZone(name, zone)) return true;
    const before = name.labels - zone.labels;
    if (before > MOST_PLACE_LABELS + 1 || startOfZone(name, zone) < 0) return false;
    return before <= MOST_PLACE_LABELS || labelText(name, 0) === "svc";
  });
}
