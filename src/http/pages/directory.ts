import { Kind } from "../../database/places.ts";
import type { Steps } from "../../dns/steps.ts";
import { NOT_READY } from "../../explain/explanation.ts";
import type { ServiceExplainer } from "../../explain/service.ts";
import type { Turns } from "../../gateway/clock.ts";
import type { ScopedGateway, ServingStatus } from "../../gateway/gateway-types.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import { nameOf, namespaceOf } from "../../merge/order.ts";
import type { ServiceListing } from "../../names/service-listing.ts";
import {
  type Accounts,
  listServices,
  type Objections,
  type ServicePart,
  type ServiceSearch,
  serviceAt,
} from "../../names/services.ts";
import type { World } from "../../zone/world.ts";
import type { SetupRequest } from "../setup/facts.ts";

/** The addresses of the gateway other than its URL. */
export interface GatewayAddresses extends Pick<SetupRequest, "addresses" | "outside" | "dns" | "dot"> {
  /** The self-signed certificate in PEM, if any. */
  readonly certificate?: string | undefined;
}

/** The facts about a host that the pages show. */
export interface PageSettings {
  readonly directory: Directory;
  /** `https://HOST[:PORT]`; default: the address of the request. */
  readonly publicUrl?: string | undefined;
  /** The other addresses of the gateway; called for each page. */
  readonly gatewayAddresses?: () => GatewayAddresses;
}

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

/** A service, and what clusters have in it where that is known. */
export interface GridRow extends ServiceListing {
  readonly parts?: readonly ServicePart[];
}

/** The lists on the pages. Not every host has all of them. */
type Directory = ReturnType<typeof createDirectory>;

/** What a host's answers are made of, for pages and explanations. */
export interface Listed {
  readonly world: World;
  /** The view of all its clients, a cluster id; undefined: outside. */
  readonly view?: string | undefined;
  /** Absent on hosts that do not merge. */
  readonly merged?: Merged;
  /** Lists services on hosts that do not merge; undefined where that fails. */
  readonly services?: (
    request: ServiceSearch,
  ) => Promise<{ readonly total: number; readonly services: readonly ServiceListing[] } | undefined>;
}

/** What only hosts that merge have. */
interface Merged {
  readonly accounts: Accounts;
  /** Default: services are not explained. */
  readonly explainer?: ServiceExplainer | undefined;
  readonly turns: Turns;
  readonly withNames: ScopedGateway["withNames"];
  /** The conflicts and findings of the view; undefined where that takes too long. */
  survey(): Promise<Objections | undefined>;
}

const MOST_HISTORY = 100;
const NOTHING_SERVED = { missing: NOT_READY.message };
const NOT_YET = {
  missing: "The gateway looks at all services since it started: look again in a few seconds.",
};
const elsewhere = (what: string) => ({
  missing: `${what} are known to the primary, which merges what clusters report: look at its page.`,
});

/** The directory of what is served now; `listed` returns undefined while there is nothing. */
export function createDirectory(listed: () => Listed | undefined) {
  const part = async <Entry>(
    what: string,
    range: ListRange,
    read: (objections: Objections) => readonly Entry[],
  ): Promise<Part<Entry>> => {
    const now = listed();
    if (now === undefined) return NOTHING_SERVED;
    if (now.merged === undefined) return elsewhere(what);
    const objections = await now.merged.survey();
    if (objections === undefined) return NOT_YET;
    const list = read(objections);
    return { total: list.length, entries: list.slice(range.offset, range.offset + range.most) };
  };
  return {
    /**
     * A service as it is in a view; undefined if it is not served there, or not in memory.
     * @param view a cluster id; undefined for outside
     */
    async service(
      namespace: string,
      name: string,
      view: string | undefined,
    ): Promise<ServiceListing | undefined> {
      const now = listed();
      const read = (served: Pick<Listed, "world"> | undefined) =>
        served && serviceAt(served.world, `${namespace}/${name}`, view);
      return now?.merged === undefined ? read(now) : now.merged.withNames(read);
    },
    /** Counts the exports and imports that a status lacks, unless that takes too long. */
    async count({ clusters }: ServingStatus): Promise<void> {
      const merged = clusters.some(({ live, exports }) => live && exports === undefined) && listed()?.merged;
      if (merged) await merged.survey();
    },
    /** What a cluster exports, by name. */
    async cluster(clusterId: string, range: ListRange): Promise<ClusterExports | Missing> {
      const now = listed();
      if (now === undefined) return NOTHING_SERVED;
      const { merged, view } = now;
      if (merged === undefined) return elsewhere("The exports of a cluster");
      const { findings = [] } = (await merged.survey()) ?? {};
      const own = findings.filter((finding) => finding.clusterId === clusterId);
      return merged.turns.later.run(exportsOf(merged.accounts, view, own, clusterId, range));
    },
    async services(search: Omit<ServiceSearch, "view">): Promise<Part<GridRow>> {
      const now = listed();
      if (now === undefined) return NOTHING_SERVED;
      const { merged, view } = now;
      const request = { ...search, view };
      if (merged === undefined) {
        const list = await now.services?.(request);
        return list === undefined ? elsewhere("Services") : { total: list.total, entries: list.services };
      }
      return merged.turns.later.run(gridRows(merged.accounts, request));
    },
    /** What happened to clusters, the newest first; undefined where that is not known. */
    history: () => {
      const now = listed();
      return now?.merged?.accounts.world.entries.history(MOST_HISTORY, now.view);
    },
    conflicts: (range: ListRange) => part("Conflicts", range, ({ conflicts }) => conflicts),
    findings: (range: ListRange) => part("Findings", range, ({ findings }) => findings),
  };
}

function* gridRows(accounts: Accounts, request: ServiceSearch): Steps<ListPart<GridRow>> {
  const { total, services } = yield* listServices(accounts.world, request);
  const entries: GridRow[] = [];
  for (const service of services) {
    const parts = accounts.partsOf(`${service.namespace}/${service.name}`, request.view);
    entries.push({ ...service, parts });
    yield;
  }
  return { total, entries };
}

/** The kinds of objects that are, or stand for, a service. */
export const SERVICE_KINDS: ReadonlySet<string> = new Set(["ServiceExport", "Service", "ServiceImport"]);
const MOST_FINDINGS = 100;
/** Keys of one step. */
const KEYS_AT_ONCE = 256;

/** @param own findings of the cluster */
function* exportsOf(
  accounts: Accounts,
  view: string | undefined,
  own: readonly ClusterFinding[],
  clusterId: string,
  { offset, most }: ListRange,
): Steps<ClusterExports> {
  const entries: ClusterExport[] = [];
  let total = 0;
  const { entries: reported, context, frame } = accounts.world;
  const keys = context.clusterViews.has(clusterId) ? reported.keysOf(clusterId, Kind.export) : [];
  for (const key of keys) {
    if (view !== undefined) {
      yield;
      if (accounts.isLacking(frame.viewOf(view), namespaceOf(key))) continue;
      if (accounts.lackedBy(key, view).has(clusterId)) continue;
    }
    if (++total % KEYS_AT_ONCE === 0) yield;
    if (total <= offset || entries.length >= most) continue;
    const { service } = accounts.of(key, view);
    entries.push({
      namespace: namespaceOf(key),
      name: nameOf(key),
      type: service?.type,
      isServed: service?.exporters.includes(clusterId) === true,
      decidedBy: service?.exporters[0],
    });
    yield;
  }
  const refusals: ClusterFinding[] = [];
  const findings: ClusterFinding[] = [];
  for (const finding of own.slice(0, MOST_FINDINGS)) {
    const { kind, namespace, name } = finding;
    const key = SERVICE_KINDS.has(kind) && namespace !== undefined ? `${namespace}/${name}` : undefined;
    const isServed =
      key === undefined || accounts.of(key, view).service?.exporters.includes(clusterId) === true;
    (isServed ? findings : refusals).push(finding);
    yield;
  }
  return { exports: { total, entries }, refusals, findings, findingCount: own.length };
}

/** The services that the first page shows, and among which there is an example. */
export const FIRST_SERVICES = { offset: 0, most: 50, words: [] };

/**
 * The name of a service that has an address, and on which clusters agree if there is such a one; undefined if
 * no service has an address.
 */
export function exampleIn(part: Part<GridRow>, zone: string): SetupRequest["example"] {
  if ("missing" in part) return undefined;
  const answered = part.entries.filter(({ addresses }) => addresses.length > 0);
  const service = answered.find(({ hasConflict }) => hasConflict !== true) ?? answered[0];
  if (service === undefined) return undefined;
  const type = service.addresses[0]!.includes(":") ? "AAAA" : "A";
  return { name: `${service.name}.${service.namespace}.svc.${zone}`, type };
}
