import { foldedName } from "../../explain/lease-groups.ts";
import type { ServiceExplainer } from "../../explain/service-explainer.ts";
import type { ClusterFinding, Conflict } from "../../merge/clusterset.ts";
import type { MergedServices } from "../../merge/index/merged-services.ts";
import { nameOf, namespaceOf } from "../../merge/service-key.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import type { Segment } from "../../zone/segment/segment.ts";
import { listServices, type ServiceListing, serviceAt } from "../../zone/services.ts";

/** A part of a list. */
export interface ListPart<Entry> {
  /** The number of entries of the whole list. */
  readonly total: number;
  readonly entries: readonly Entry[];
}

/** A sentence for people: why this host does not have the list. */
export interface Missing {
  readonly missing: string;
}

/** The requested part of a list. */
export interface ListRange {
  readonly offset: number;
  readonly most: number;
}

/** The requested services. */
export interface ServicesAsked extends ListRange {
  /** Words that `<service>.<namespace>` must contain. */
  readonly words: readonly string[];
  /** A cluster id; undefined for outside. */
  readonly view: string | undefined;
}

type Part<Entry> = ListPart<Entry> | Missing;

/** A service that a cluster exports. */
export interface ClusterExport {
  readonly namespace: string;
  readonly name: string;
  /** The merged type; undefined if no part of the service counts. */
  readonly type: "ClusterSetIP" | "Headless" | undefined;
  /** Whether the cluster's export counts. */
  readonly isServed: boolean;
  /** The exporter that decides the service's properties. */
  readonly decidedBy: string | undefined;
}

/** What a cluster exports and what became of it. */
export interface ClusterExports {
  readonly exports: ListPart<ClusterExport>;
  /** Those about exports that are not served. */
  readonly refusals: readonly ClusterFinding[];
  /** The others. */
  readonly findings: readonly ClusterFinding[];
  /** How many findings there are; at most 100 are among the others. */
  readonly findingCount: number;
}

/** The lists on the pages. Not every host has all of them. */
export interface Directory {
  /** A service as it is in a view; undefined if it is not served there, or not in memory. @param view a cluster id; undefined for outside */
  service(namespace: string, name: string, view: string | undefined): ServiceListing | undefined;
  /** What a cluster exports, by name; more than 10,000 exports are in the order of the cluster's snapshot. */
  cluster(clusterId: string, range: ListRange): ClusterExports | Missing;
  services(asked: ServicesAsked): Part<ServiceListing> | Promise<Part<ServiceListing>>;
  conflicts(range: ListRange): Part<Conflict> | Promise<Part<Conflict>>;
  findings(range: ListRange): Part<ClusterFinding> | Promise<Part<ClusterFinding>>;
}

/** The data of a host's answers. Only the host that compiled the generation has conflicts and findings. */
export interface ListedGeneration {
  readonly generation: Generation;
  /** Brings all services into memory; false where there are too many for this host. Absent where they are in memory. */
  readonly complete?: () => Promise<boolean>;
  /** What it is compiled from. Absent on hosts that do not merge. */
  readonly merged?: MergedServices;
  /** Explains the services of `merged`. Absent on hosts that do not merge. */
  readonly explainer?: ServiceExplainer | undefined;
  readonly conflicts?: readonly Conflict[];
  readonly findings?: readonly ClusterFinding[];
}

const NOTHING_SERVED = "Nothing is known yet: no cluster has pushed, or every lease has expired.";
const ELSEWHERE = "are known to the primary, which compiles the zones: look at its page.";
const TOO_MANY =
  "There are more services than this host lists: look at the page of the primary, or look a name up.";

/** The directory of the currently served data; `served` returns undefined while there is none. */
export function createDirectory(served: () => ListedGeneration | undefined): Directory {
  const part = <Entry>(list: readonly Entry[] | undefined, what: string, range: ListRange): Part<Entry> =>
    list === undefined
      ? { missing: `${what} ${ELSEWHERE}` }
      : { total: list.length, entries: list.slice(range.offset, range.offset + range.most) };
  return {
    service(namespace, name, view) {
      const generation = served()?.generation;
      if (generation === undefined) return undefined;
      const { frame } = generation;
      const zone = frame.trees[0]!.canonicalZone;
      const folded = foldedName(`${name}.${namespace}.svc.${zone.name}`);
      const at = generation.locate(zone, 0, folded, frame.viewOf(view));
      return at === undefined || "missing" in at ? undefined : serviceAt(at.names as Segment, at.node, view);
    },
    cluster(clusterId, range) {
      const now = served();
      if (now === undefined) return { missing: NOTHING_SERVED };
      const { merged, findings = [] } = now;
      return merged === undefined
        ? { missing: `The exports of a cluster ${ELSEWHERE}` }
        : exportsOf(merged, findings, clusterId, range);
    },
    services(asked) {
      const now = served();
      if (now === undefined) return { missing: NOTHING_SERVED };
      const list = () => {
        const { total, services } = listServices(now.generation, asked);
        return { total, entries: services };
      };
      return now.complete?.().then((isComplete) => (isComplete ? list() : { missing: TOO_MANY })) ?? list();
    },
    conflicts(range) {
      const now = served();
      return now === undefined ? { missing: NOTHING_SERVED } : part(now.conflicts, "Conflicts", range);
    },
    findings(range) {
      const now = served();
      return now === undefined ? { missing: NOTHING_SERVED } : part(now.findings, "Findings", range);
    },
  };
}

/** The kinds of objects that are, or stand for, a service. */
export const SERVICE_KINDS: ReadonlySet<string> = new Set(["ServiceExport", "Service", "ServiceImport"]);
const MOST_FINDINGS = 100;
/** Sorting 100,000 names holds queries up for tens of milliseconds. */
const MOST_SORTED = 10_000;

function exportsOf(
  merged: MergedServices,
  findings: readonly ClusterFinding[],
  clusterId: string,
  { offset, most }: ListRange,
): ClusterExports {
  const isServed = (key: string) => merged.service(key)?.exporters.includes(clusterId) === true;
  const own = findings.filter((finding) => finding.clusterId === clusterId);
  const isRefusal = ({ kind, namespace, name }: ClusterFinding) =>
    SERVICE_KINDS.has(kind) && namespace !== undefined && !isServed(`${namespace}/${name}`);
  const listed = own.slice(0, MOST_FINDINGS);
  const keys = [...merged.exportsOf(clusterId)];
  if (keys.length <= MOST_SORTED) keys.sort();
  return {
    exports: {
      total: keys.length,
      entries: keys.slice(offset, offset + most).map((key) => {
        const service = merged.service(key);
        return {
          ...{ namespace: namespaceOf(key), name: nameOf(key), type: service?.type },
          ...{ isServed: isServed(key), decidedBy: service?.exporters[0] },
        };
      }),
    },
    refusals: listed.filter(isRefusal),
    findings: listed.filter((finding) => !isRefusal(finding)),
    findingCount: own.length,
  };
}
