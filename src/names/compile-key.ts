import { RecordType } from "../dns/name.ts";
import { endsStep, finish, type Steps } from "../dns/steps.ts";
import { audiencesOf, MOST_AUDIENCES, restrictionsOf, withoutExports } from "../merge/audience.ts";
import { ABSENT_CLUSTER, type ClusterFinding, type Conflict } from "../merge/clusterset.ts";
import { type MergeRules, mergeKey } from "../merge/merge-key.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { LocalService } from "../snapshot/schema.ts";
import { CLUSTER_LOCAL_DNS_VERSION, compileClusterLocal } from "../zone/kinds/cluster-local.ts";
import { CLUSTERSET_DNS_VERSION, compileClustersetService } from "../zone/kinds/clusterset.ts";
import { compileFederatedService } from "../zone/kinds/federation.ts";
import type { CandidateSource, KeyContext, ReverseCandidate, TreeScope } from "../zone/kinds/tree-scope.ts";
import { intern, type NameNode, NameTree } from "../zone/name-tree.ts";
import {
  fixedDataBytes,
  LONG_COUNT,
  RecordSets,
  read32,
  recordsOf,
  setEnd,
  write16,
  write32,
} from "../zone/world.ts";
import { addressOf, type PlannedTree, type ZoneContext } from "../zone/zone-context.ts";
import type { ZoneCluster } from "../zone/zone-plan.ts";
import {
  audienceTree,
  CompiledKey,
  isAudienceTree,
  KEY_HEADER_BYTES,
  KeyForm,
  type KeyTables,
  type Terms,
} from "./compiled-key.ts";
import type { DatabaseEntries } from "./database-entries.ts";
import { type KeyEntries, keysOfPod } from "./entries.ts";
import { compareAddresses, type WantedNames } from "./reverse-names.ts";

/** The names of a key in one kind of zone, with what compiling it found. */
export interface CompiledUnit {
  /** Undefined where the key has no names. */
  readonly key: CompiledKey | undefined;
  /** Whether it is a service of the clusterset: one may have no name. */
  readonly hasService: boolean;
  /** The clusters that have a part in it, one that does not count or is not live too. */
  readonly clusters: readonly string[];
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
  /** Whether some views lack exports of it: then they may lack addresses. */
  readonly hasAudiences: boolean;
  /** The PTR records that its addresses want, by address. */
  readonly reverse: WantedNames;
}

/**
 * What a service is merged to for clients outside, and for clusters that every export reaches, and what there
 * is to say of it.
 */
export type MergedEntries = ReturnType<typeof mergeEntries>;

const NO_SERVICES: ReadonlyMap<string, LocalService> = new Map();

/**
 * Merges what clusters have of a service. `byCluster` has the clusters with addresses of their own, and
 * `ABSENT_CLUSTER` for all others: so it does not depend on which other clusters there are.
 */
export function mergeEntries(key: string, entries: KeyEntries, rules: MergeRules) {
  const { contributions, clusters, parts } = entries;
  const all = mergeViews(key, entries, rules);
  const restrictions = restrictionsOf(key, entries, rules.pins);
  const audiences = audiencesOf(restrictions).map(({ views, lacking }) => {
    const some = { contributions: withoutExports(contributions, lacking, rules.grants), clusters };
    const { service, likeOutside } = lacking.size === 0 ? all : mergeViews(key, some, rules);
    return { views, service, likeOutside };
  });
  const findings = [...all.findings, ...findTooMany(key, [...restrictions.keys()], audiences.length)];
  return {
    ...all,
    findings,
    /** The clusters that have a part in it, one that does not count or is not live too. */
    clusters: parts,
    /** By audience, first those that every export reaches; none where all are. */
    audiences,
  };
}

function findTooMany(key: string, exporters: readonly string[], audiences: number): ClusterFinding[] {
  if (audiences < MOST_AUDIENCES) return [];
  const service = { namespace: namespaceOf(key), name: nameOf(key) };
  const message = `the exports of this service reach ${MOST_AUDIENCES} different sets of clusters, the most that are told apart: further clusters count as if no export named them`;
  return exporters.map((clusterId) => ({
    clusterId,
    reason: "TooMany",
    kind: "ServiceExport",
    ...service,
    message,
  }));
}

/** Merges what clusters have of a service for the views in which these contributions count. */
export function mergeViews(
  key: string,
  { contributions, clusters }: Pick<KeyEntries, "contributions" | "clusters">,
  rules: MergeRules,
) {
  const own = contributions.filter(
    ({ clusterId, imported, managed }) => (imported ?? managed) !== undefined && clusters.has(clusterId),
  );
  const viewers = own.map(({ clusterId }) => clusterId);
  const merged = mergeKey(key, { contributions, clusters }, [...viewers, ABSENT_CLUSTER], rules);
  const { service } = merged;
  const hasInside = service?.byCluster.has(ABSENT_CLUSTER) === true;
  return {
    ...merged,
    /** Clusters whose view is that of clients outside, where that of others is not. */
    likeOutside: hasInside ? viewers.filter((one) => !service.byCluster.has(one)) : [],
  };
}

/** Compiles the names of a service in the clusterset's zones. */
export function* compileClustersetKey(
  context: ZoneContext,
  key: string,
  merged: MergedEntries,
): Steps<CompiledUnit> {
  const hosts = context.hosts.get(key);
  const trees = context.trees.filter(({ plan }) => plan.kind === "clusterset");
  const unit = new Unit(context, trees, hosts, merged.audiences);
  for (const [audience, { service, likeOutside }] of inAudiences(merged).entries()) {
    for (const clusterId of likeOutside) unit.names.view(clusterId);
    if (service !== undefined)
      yield* compileClustersetService(
        unit.tree(trees[0]!, new Set(service.byCluster.keys()), audience),
        service,
      );
  }
  return yield* unit.finish(merged.service !== undefined, merged);
}

/**
 * Compiles the names of a service in all federation zones. Conflicts and findings of the merge are those of
 * its names in the clusterset's zones.
 */
export function* compileFederationKey(
  context: ZoneContext,
  key: string,
  merged: MergedEntries,
): Steps<CompiledUnit> {
  const hosts = context.hosts.get(key);
  const trees = context.trees.filter(({ plan }) => plan.kind === "federation");
  const unit = new Unit(context, trees, hosts, merged.audiences);
  for (const [audience, { service }] of inAudiences(merged).entries())
    for (const tree of trees)
      for (const zone of tree.plan.kind === "federation" && service !== undefined ? tree.plan.zones : [])
        yield* compileFederatedService(
          unit.tree(tree, context.clusterViews, audience),
          zone,
          service!,
          context.distances,
        );
  return yield* unit.finish(merged.service !== undefined, { clusters: merged.clusters });
}

/** Compiles the names of a key in a cluster's own zone. */
export function* compileLocalKey(
  context: ZoneContext,
  tree: PlannedTree,
  { clusterId, zone }: ZoneCluster,
  key: string,
  entries: DatabaseEntries,
): Steps<CompiledUnit> {
  const slash = key.indexOf("/");
  const [namespace, label] = [key.slice(0, slash), key.slice(slash + 1)];
  const unit = new Unit(context, [tree], context.hosts.get(key));
  const services = entries.localServices(clusterId, namespace, label);
  const pods = zone?.pods === "verified" ? entries.localPods(clusterId, namespace, label) : [];
  const hasNamespace = entries.hasNamespace(clusterId, namespace);
  const scope = unit.tree(tree, context.clusterViews);
  yield* compileClusterLocal(scope, { clusterId, key, hasNamespace, services, pods });
  return yield* unit.finish(false, { clusters: [clusterId] });
}

/**
 * Compiles the names of pods of a cluster's own zone.
 * @param pods `<namespace>/<address>` @returns what is found
 */
export function compilePods(
  context: ZoneContext,
  tree: PlannedTree,
  pods: readonly string[],
  entries: DatabaseEntries,
): readonly ClusterFinding[] {
  const { plan } = tree;
  if (plan.kind !== "cluster-local") return [];
  const { clusterId } = plan.cluster;
  const unit = new Unit(context, [tree], undefined);
  const own = unit.tree(tree, context.clusterViews);
  for (const pod of pods)
    for (const key of keysOfPod(pod)) {
      const hasNamespace = entries.hasNamespace(clusterId, namespaceOf(key));
      finish(compileClusterLocal(own, { clusterId, key, hasNamespace, services: NO_SERVICES, pods: [pod] }));
    }
  return finish(unit.finish(false, { clusters: [clusterId] })).findings;
}

/** The service as each audience has it, first as clients outside do. */
function inAudiences(merged: MergedEntries): readonly Pick<MergedEntries, "service" | "likeOutside">[] {
  return [merged, ...merged.audiences.slice(1)];
}

/** Compiles into some trees. */
class Unit {
  readonly names: NameTree;
  readonly #context: Omit<KeyContext, "clusterViews">;
  readonly #audiences: MergedEntries["audiences"];
  readonly #findings: ClusterFinding[] = [];
  readonly #reverse: [Uint8Array, ReverseCandidate][] = [];

  constructor(
    { options, localities }: ZoneContext,
    trees: readonly PlannedTree[],
    hosts: ReturnType<ZoneContext["hosts"]["get"]>,
    audiences: MergedEntries["audiences"] = [],
  ) {
    this.#audiences = audiences;
    const count = Math.max(1, audiences.length);
    const keys = trees.flatMap(({ key }) =>
      Array.from({ length: count }, (_, index) => audienceTree(key, index)),
    );
    this.names = new NameTree(keys);
    this.#context = {
      names: this.names,
      localities,
      ttl: options.ttl,
      findings: this.#findings,
      addReverse: (bytes, candidate) => this.#reverse.push([bytes, candidate]),
    };
    // The name of a host is not a service's.
    for (const { tree, labels, addresses } of hosts ?? [])
      for (const [apex, key] of keys.entries()) {
        if (!isAudienceTree(key, tree)) continue;
        const node = labels.reduceRight((parent, label) => this.names.child(parent, label), apex);
        const sets = new RecordSets();
        for (const bytes of addresses) sets.addAddress(bytes, options.ttl, 0);
        this.names.setRecords(node, sets);
      }
  }

  /**
   * @param clusterViews clusters with a view of their own
   * @param audience by its index; 0 for clients outside
   */
  tree(
    { key, shortestZoneBytes, canonicalZone }: PlannedTree,
    clusterViews: ReadonlySet<string>,
    audience = 0,
  ): TreeScope {
    const apex = this.names.apex(audienceTree(key, audience));
    const context = { ...this.#context, clusterViews };
    return { context, key, apex, shortestZoneBytes, canonicalZone };
  }

  *finish(
    hasService: boolean,
    { clusters, conflicts = [], findings = [] }: Pick<MergedEntries, "clusters"> & Partial<MergedEntries>,
  ): Steps<CompiledUnit> {
    const audiences = this.#audiences.map(({ views }) => views);
    const key = this.names.isEmpty ? undefined : yield* writeKey(this.names, { audiences });
    const hasAudiences = audiences.length > 1;
    // Audiences have much in common.
    const found = hasAudiences ? distinct(this.#findings) : this.#findings;
    const wanted = onePerSource(this.#reverse.sort(([one], [other]) => compareAddresses(one, other)));
    const reverse = hasAudiences ? distinct(wanted) : wanted;
    return { key, hasService, clusters, conflicts, findings: [...findings, ...found], hasAudiences, reverse };
  }
}

/**
 * Of what one source wants for an address the first with a hostname, else the first: an endpoint may have
 * thousands of hostnames, and each query would go through them. @param wanted in the order of addresses
 */
function onePerSource(wanted: WantedNames): WantedNames {
  const kept: WantedNames[number][] = [];
  const places = new Map<CandidateSource, number>();
  for (const one of wanted) {
    const [address, { source, label }] = one;
    if (kept.length > 0 && compareAddresses(kept.at(-1)![0], address) !== 0) places.clear();
    const place = places.get(source);
    if (place === undefined) places.set(source, kept.push(one) - 1);
    else if (label !== undefined && kept[place]![1].label === undefined) kept[place] = one;
  }
  return kept;
}

/** Equal ones once. */
function distinct<One>(list: readonly One[]): One[] {
  return [...new Map(list.map((one) => [JSON.stringify(one), one])).values()];
}

/** TTL of the schema version record in seconds, as both specifications print it (2.2). */
const DNS_VERSION_TTL = 28800;

/**
 * Compiles the names of all trees that exist whatever clusters report: apexes, name servers, schema versions,
 * and hosts of the gateway.
 */
export function compileFixedNames({ trees, hosts, options }: ZoneContext): CompiledKey {
  const names = new NameTree(trees.map(({ key }) => key));
  const { ttl } = options;
  const records = new Map<number, RecordSets>();
  const setsAt = (node: number) => {
    const sets = records.get(node) ?? new RecordSets();
    records.set(node, sets);
    return sets;
  };
  for (const [apex, { plan }] of trees.entries()) {
    if (plan.kind !== "federation") {
      const version = plan.kind === "clusterset" ? CLUSTERSET_DNS_VERSION : CLUSTER_LOCAL_DNS_VERSION;
      const text = Uint8Array.from(version, (character) => character.charCodeAt(0));
      const rdata = Uint8Array.of(text.length, ...text);
      setsAt(names.child(apex, "dns-version")).addRdata(RecordType.TXT, rdata, DNS_VERSION_TTL, 0);
    }
    const nameServer = setsAt(names.child(names.child(apex, "dns"), "ns"));
    for (const address of options.nameServerAddresses) nameServer.addAddress(addressOf(address), ttl, 0);
    // An empty zone still answers NODATA, not NXDOMAIN, at the parent name of all services.
    names.child(apex, "svc");
    if (plan.kind === "cluster-local" && plan.cluster.zone.pods !== "disabled") names.child(apex, "pod");
  }
  for (const { tree, labels, addresses } of [...hosts.values()].flat()) {
    const node = labels.reduceRight((parent, label) => names.child(parent, label), names.apex(tree));
    for (const address of addresses) setsAt(node).addAddress(address, ttl, 0);
  }
  for (const [node, sets] of records) if (!sets.isEmpty) names.setRecords(node, sets);
  return finish(writeKey(names, { withApexes: true }));
}

const SRV_BYTES = fixedDataBytes(RecordType.SRV);
const PORT_BYTES = 2;

/**
 * The compiled form of names. Equal names give equal bytes. @param withApexes whether the apexes are names of
 * it, too @param audiences the views of each audience
 */
export function* writeKey(
  names: NameTree,
  { withApexes = false, audiences = [] }: { withApexes?: boolean; audiences?: KeyTables["audiences"] } = {},
): Steps<CompiledKey> {
  const { nodes } = names;
  const order: { readonly index: number; readonly text: string }[] = [];
  for (let index = withApexes ? 0 : names.trees.length; index < nodes.length; index++) {
    if (endsStep(index)) yield;
    order.push({ index, text: orderText(nodes[index]!) });
  }
  order.sort((one, other) => (one.text < other.text ? -1 : 1));
  const writer = new KeyWriter(names, order.length);
  const starts = new Uint32Array(nodes.length);
  const offsets = new Uint32Array(order.length);
  for (const [place, { index }] of order.entries()) {
    if (endsStep(place)) yield;
    starts[index] = offsets[place] = writer.write(nodes[index]!);
  }
  return CompiledKey.of({
    heap: writer.finish(starts),
    offsets,
    terms: writer.terms,
    tables: { trees: names.trees, views: names.views, leaseGroups: names.leaseGroups, audiences },
  });
}

/**
 * Text in the order in which names are: by tree, then length, then folded bytes, since each label comes after
 * the character with its length.
 */
function orderText({ tree, folded }: NameNode): string {
  let text = String.fromCharCode(tree, folded.length);
  for (let start = 0; start < folded.length; ) {
    const dot = folded.indexOf(".", start);
    const end = dot < 0 ? folded.length : dot;
    text += String.fromCharCode(end - start) + folded.slice(start, end);
    start = end + 1;
  }
  return text;
}

class KeyWriter {
  readonly terms: Terms[] = [];
  readonly #heap: HeapWriter;
  readonly #views: readonly string[];
  readonly #known = new Map<number, number>();
  /** Offsets of SRV records, whose targets are nodes yet. */
  readonly #services: number[] = [];

  constructor(names: NameTree, count: number) {
    this.#heap = new HeapWriter(KEY_HEADER_BYTES, 64 + 64 * count);
    this.#views = names.views;
  }

  /** @returns the offset of the name */
  write({ tree, text, sets, variants }: NameNode): number {
    const heap = this.#heap;
    const start = heap.length;
    heap.write8((sets === undefined ? 0 : KeyForm.records) | (variants.size === 0 ? 0 : KeyForm.variants));
    heap.write16(tree);
    this.#writeLabels(text);
    if (sets === undefined) return start;
    this.#writeSets(sets);
    if (variants.size === 0) return start;
    heap.writeCount(variants.size);
    const views = this.#views;
    const byName = [...variants].sort(([one], [other]) => (views[one]! < views[other]! ? -1 : 1));
    for (const [view, own] of byName) {
      heap.write16(view);
      this.#writeSets(own);
    }
    return start;
  }

  /** The heap, with targets that are offsets. @param starts the offsets of nodes */
  finish(starts: Uint32Array): Uint8Array {
    const heap = this.#heap;
    for (const record of this.#services)
      heap.put32(record + PORT_BYTES, starts[read32(heap.bytes, record + PORT_BYTES)]! - record);
    return heap.bytes;
  }

  /** Writes labels that are joined by dots, after the length of all of them. */
  #writeLabels(text: string): void {
    const heap = this.#heap;
    if (text === "") {
      heap.write8(0);
      return;
    }
    heap.write8(text.length + 1);
    for (let start = 0; start <= text.length; ) {
      const dot = text.indexOf(".", start);
      const end = dot < 0 ? text.length : dot;
      heap.writeLabel(text.slice(start, end));
      start = end + 1;
    }
  }

  /** Writes a set list: the count, then the sets. */
  #writeSets({ sets }: RecordSets): void {
    const heap = this.#heap;
    heap.write8(sets.length);
    for (const { type, ttl, leaseGroup, count, data } of sets) {
      const set = heap.length;
      heap.write8(type);
      heap.write16(this.#termsOf(ttl, leaseGroup));
      heap.writeCount(count);
      heap.writeBytes(data);
      if (type !== RecordType.SRV) continue;
      const end = setEnd(heap.bytes, set);
      for (let record = recordsOf(heap.bytes, set); record < end; record += SRV_BYTES)
        this.#services.push(record);
    }
  }

  /** The index of the terms with a TTL and a lease group. */
  #termsOf(ttl: number, leaseGroup: number): number {
    const index = intern(this.#known, (ttl >>> 0) * 0x10000 + leaseGroup, "terms of sets");
    if (index === this.terms.length) this.terms.push({ ttl: ttl >>> 0, leaseGroup });
    return index;
  }
}

/** A growing byte array with big-endian writes, behind room for a header: offset 0 can mean "none". */
class HeapWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length: number;

  /** @param start bytes of the header @param room for how many more bytes there is room at first */
  constructor(start: number, room: number) {
    this.#bytes = new Uint8Array(start + room);
    this.#length = start;
  }

  /** The offset of the next byte. */
  get length(): number {
    return this.#length;
  }

  /** The header's room and what was written; valid until the next write. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  write8(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  write16(value: number): void {
    const at = this.#reserve(2);
    write16(this.#bytes, at, value);
  }

  /** Writes a count in one byte, or, from 255 on, as the byte 255 and a 16-bit number. */
  writeCount(value: number): void {
    if (value < LONG_COUNT) this.write8(value);
    else {
      this.write8(LONG_COUNT);
      this.write16(value);
    }
  }

  writeBytes(written: ArrayLike<number>): void {
    const at = this.#reserve(written.length);
    const bytes = this.#bytes;
    for (let index = 0; index < written.length; index++) bytes[at + index] = written[index]!;
  }

  /** Writes another 32-bit number over what is at an offset. */
  put32(at: number, value: number): void {
    write32(this.#bytes, at, value);
  }

  /** Writes a label of ASCII characters with its length byte. */
  writeLabel(label: string): void {
    this.write8(label.length);
    const at = this.#reserve(label.length);
    const bytes = this.#bytes;
    for (let index = 0; index < label.length; index++) bytes[at + index] = label.charCodeAt(index);
  }

  #reserve(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    return at;
  }
}
