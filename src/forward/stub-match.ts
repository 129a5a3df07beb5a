import { RecordType } from "../dns/codes.ts";
import { countLabels, foldName, parseName } from "../dns/name.ts";
import { isAbove } from "../resolve/find.ts";
import {
  isAnsweredClass,
  isQuery,
  type Query,
  QuestionName,
  readPlainQuery,
  readQuery,
} from "../resolve/query.ts";

/** A zone that federations are below, in wire form and lower case. */
export interface FederationSuffix {
  readonly wire: Uint8Array;
  readonly labels: number;
}

/** A region, and a topology zone in it, may stand between `svc` and the zone. */
const MOST_PLACE_LABELS = 2;

/** @throws {NameError} where a zone is no name */
export function federationSuffixes(zones: readonly string[]): FederationSuffix[] {
  return zones.map((zone) => {
    const wire = foldName(parseName(zone));
    return { wire, labels: countLabels(wire) };
  });
}

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
 * What is registered for the federation that the question last read is about: `<federation>.svc.<zone>` or a name below,
 * `<federation>.svc.<region>.<zone>` and `<federation>.svc.<topology zone>.<region>.<zone>` likewise.
 */
export function matchFederation<Registered>(
  suffixes: readonly FederationSuffix[],
  registered: ReadonlyMap<string, Registered>,
): Registered | undefined {
  for (const suffix of suffixes) {
    const last = QuestionName.labels - suffix.labels - 1;
    if (last < 1 || !isIn(suffix)) continue;
    for (let svc = last; svc >= Math.max(1, last - MOST_PLACE_LABELS); svc--) {
      if (labelText(svc) !== "svc") continue;
      const found = registered.get(labelText(svc - 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Whether names below the question last read can be those of a federation: it is above a zone that federations are below, or between the two,
 * where any region and topology zone may be.
 */
export function isAboveFederations(suffixes: readonly FederationSuffix[]): boolean {
  return suffixes.some((suffix) => {
    if (isAbove(suffix.wire)) return true;
    const before = QuestionName.labels - suffix.labels;
    if (before < 0 || before > MOST_PLACE_LABELS + 1 || !isIn(suffix)) return false;
    return before <= MOST_PLACE_LABELS || labelText(0) === "svc";
  });
}

function isIn({ wire, labels }: FederationSuffix): boolean {
  const { folded, bytes, labelAt } = QuestionName;
  if (QuestionName.labels < labels) return false;
  const start = QuestionName.labels === labels ? 0 : labelAt[QuestionName.labels - labels]!;
  if (bytes - start !== wire.length) return false;
  for (let index = 0; index < wire.length; index++) if (wire[index] !== folded[start + index]) return false;
  return true;
}

function labelText(label: number): string {
  const { folded, labelAt } = QuestionName;
  const at = labelAt[label]!;
  return String.fromCharCode(...folded.subarray(at + 1, at + 1 + folded[at]!));
}
