import { readReverseName } from "../dns/address.ts";
import { type FoldedName, parseName, readFoldedName } from "../dns/name.ts";
import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import { findSet, unlessMissing, type World } from "../zone/world.ts";
import { type NamedService, readSubject, type Subject } from "./question.ts";
import type { ExplainedService as ServiceSchema, Written } from "./schema.ts";

/** What an answer is, in one word. Stable. */
export const EXPLANATION_CODES = [
  /** Records of the type exist. */
  "ANSWERED",
  /** The name has records, but none of the type. */
  "NO_RECORDS_OF_TYPE",
  /** The name of a port has SRV records only. */
  "PORT_HAS_SRV_ONLY",
  /** The name has no records; names below it may. */
  "NO_RECORDS",
  /** No cluster reports an address of the service that this view may use. */
  "NO_ADDRESS",
  /** A headless service without a ready endpoint has no names. */
  "NO_READY_ENDPOINT",
  /** No live cluster has the namespace. */
  "NO_NAMESPACE",
  /** The cluster of the view does not have the namespace. */
  "NAMESPACE_NOT_IN_VIEW",
  /** No cluster exports or imports the service. */
  "NOT_EXPORTED",
  /** A cluster reports the service, but it is not served; findings have the reason. */
  "LEFT_OUT",
  /** The service exists, but not the port or the endpoint. */
  "NO_SUCH_PORT",
  "NO_SUCH_ENDPOINT",
  /** The name is in a zone, but has no form that a service's name has, or this host cannot tell more. */
  "NO_SUCH_NAME",
  "OUT_OF_ZONE",
  /** Another name server answered. */
  "FORWARDED",
  /** Nothing can be denied: no cluster has pushed, or every lease has expired. */
  "NOT_READY",
] as const;
export type ExplanationCode = (typeof EXPLANATION_CODES)[number];

/** A record of the answer section. */
export interface ExplainedRecord {
  readonly name: string;
  readonly type: number;
  /** In the form of zone files. */
  readonly data: string;
  /** The clusters that report it. */
  readonly from: readonly string[];
}

/** A cluster whose lease the answer depends on. */
interface ExplainedLease {
  readonly clusterId: string;
  /** Unix milliseconds by the gateway's clock; undefined for a cluster that is not live. */
  readonly expiresAt: number | undefined;
}

/** A service and how it comes about. */
export type ExplainedService = Written<typeof ServiceSchema>;

/** A name that may have been meant. */
export interface Suggestion {
  readonly name: string;
  readonly because: string;
}

/** Why a question has the answer that it has. */
export interface Explanation {
  readonly code: ExplanationCode;
  readonly message: string;
  /** Absent where the name is not a service's, and on hosts that hold no merged services. */
  readonly service?: ExplainedService | undefined;
  readonly records: readonly ExplainedRecord[];
  readonly leases: readonly ExplainedLease[];
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
  readonly suggestions: readonly Suggestion[];
  /** What this host cannot tell, as sentences. */
  readonly omitted: readonly string[];
}

/** What an answer is, in a word and a sentence, and what was perhaps meant. */
export type Verdict = Pick<Explanation, "code" | "message" | "suggestions">;

/** A verdict. */
export function verdict(
  code: Verdict["code"],
  message: string,
  suggestions: readonly Suggestion[] = [],
): Verdict {
  return { code, message, suggestions };
}

/** The verdict on a name of a service, where nothing more is known of the service. */
export function notServed({ name, namespace }: NamedService): Verdict {
  return verdict("NO_SUCH_NAME", `No name ${name}.${namespace} is served with these labels before it.`);
}

/** The lists of an explanation that has nothing to say. */
export const NOTHING = { leases: [], conflicts: [], findings: [], suggestions: [], omitted: [] };

/** Where nothing is served. */
export const NOT_READY: Explanation = {
  ...NOTHING,
  code: "NOT_READY",
  message: "Nothing is known yet: no cluster has pushed, or every lease has expired.",
  records: [],
};

/**
 * What a world has at a name: the clusters that the RRset of a type depends on, empty for none; undefined
 * where there is no such RRset.
 */
export type ServedName = (type: number) => readonly string[] | undefined;

/** The folded form of a name in text. @throws {NameError} */
export function foldedName(text: string): FoldedName {
  return readFoldedName(parseName(text), 0)!;
}

/**
 * What a world has at a name in a zone.
 * @param view its index
 * @returns undefined where the name does not exist; `missing` where it is not in memory
 */
export function servedName(
  world: World,
  name: FoldedName,
  { zone, tree }: Subject,
  view: number,
): ServedName | "missing" | undefined {
  const located = unlessMissing(() => world.locate(zone, tree, name, view));
  if (located === undefined || located === "missing") return located;
  const { names, node } = located;
  const list = names.setListOf(node, names.viewOf(world.frame.viewName(view)));
  return (type) => {
    const set = list === 0 ? 0 : findSet(names.bytes, list, type);
    return set === 0 ? undefined : names.leaseGroups[names.leaseGroupOf(set)];
  };
}

/**
 * The clusters that a PTR record depends on; undefined where no name has the address, or it is not in memory.
 */
function reverseClusters(world: World, name: FoldedName, view: number): readonly string[] | undefined {
  const into = new Uint8Array(16);
  const length = readReverseName(name.bytes, name.length, into);
  if (length === 0) return undefined;
  const target = unlessMissing(() => world.ptrTarget(into.subarray(0, length), view));
  if (target === undefined || target === "missing") return undefined;
  return target.leased.leaseGroups[target.leaseGroup];
}

/** The clusters that a record of an answer depends on; none for records of the gateway itself. */
export function clustersOfRecord(world: World, owner: string, type: number, view: number): readonly string[] {
  const name = foldedName(owner);
  const subject = readSubject(world.frame, name, view);
  if (subject === undefined) return reverseClusters(world, name, view) ?? [];
  const served = servedName(world, name, subject, view);
  return served === undefined || served === "missing" ? [] : (served(type) ?? []);
}
