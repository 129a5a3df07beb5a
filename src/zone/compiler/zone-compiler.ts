import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { Page } from "../generation/directory.ts";
import type { Frame } from "../generation/frame.ts";
import { Generation, type Trunk } from "../generation/generation.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../options.ts";
import { Pace } from "../pace.ts";
import { compileLeaf } from "../reverse/compile-leaf.ts";
import { HeldSources } from "../reverse/held-sources.ts";
import type { ReverseHistory } from "../reverse/reverse-history.ts";
import { ReverseIndex } from "../reverse/reverse-index.ts";
import { AddressList, WantedAddresses } from "../reverse/wanted-addresses.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import type { SourceCluster, ZoneChange, ZoneSource } from "../zone-source.ts";
import { type HoldSegment, holdInBranch } from "./held-block.ts";
import type { KeySource } from "./key-compiler.ts";
import { KeyFindings } from "./key-findings.ts";
import { LocalZones } from "./local-zones.ts";
import { type NameKey, NameKeys } from "./name-keys.ts";
import { type Compiled, pageOf } from "./pages.ts";
import { compileSegment } from "./segment-compiler.ts";
import { type Stem, StemCounts } from "./stems.ts";
import { compileFrame, compileTrunk } from "./trunk-compiler.ts";
import { createContext, type ZoneContext } from "./zone-context.ts";

/** A generation, with what was found while it was compiled. */
export interface CompiledZones {
  readonly generation: Generation;
  readonly findings: readonly ClusterFinding[];
  /** What the next generation is compiled with, so that reverse names stay where they are. */
  readonly reverse: ReverseHistory;
}

/** What a compilation is given besides its source. */
export interface CompileOptions {
  /** SOA serial of the generation. */
  readonly serial: number;
  /** `reverse` of the compilation before; who had addresses. */
  readonly history: ReverseHistory;
}

/** What segments weigh at most, if they can be smaller: names (see `NameKey`) and PTR records. */
export interface SegmentWeights {
  readonly names: number;
  readonly reverse: number;
  /** Addresses that the first compilation holds with their names, before it compiles what it has of their segments. Default: 65,536. */
  readonly fresh?: number;
}

/** Segments of about 16 KB. */
const WEIGHTS: SegmentWeights = { names: 160, reverse: 320 };

/** In about 4 MB. An object that compiles 1,000,000 addresses would need 50 MB for them, and so compiles their segments some 16 times. */
const MOST_FRESH = 65_536;

const NO_FINDINGS: readonly ClusterFinding[] = [];
/** Keys that are taken over in one turn: less than a millisecond. */
const KEYS_IN_TURN = 50;

type NamesLeaf = Compiled<Segment>;
type ReverseLeaf = Compiled<ReverseSegment>;

/** What is kept between compilations. */
interface State {
  readonly hold: HoldSegment;
  readonly names: NameKeys<NamesLeaf>;
  readonly reverse: ReverseIndex<ReverseLeaf>;
  readonly sources: HeldSources;
  readonly stems: StemCounts;
  readonly locals: LocalZones;
  readonly findings: KeyFindings;
  /** What federations depend on besides services, as text. */
  federated: string;
  context: ZoneContext | undefined;
  trunk: Trunk | undefined;
}

/**
 * Compiles the generations of one scope, one after the other: the clusterset zone with its aliases, the zones of single clusters, federation zones.
 * It compiles only the segments of keys that changed. Data that DNS cannot hold becomes a finding; all other data is compiled.
 */
export class ZoneCompiler {
  readonly #options: ZoneOptions;
  readonly #weights: SegmentWeights;
  readonly #hold: HoldSegment;
  /** Undefined before the first compilation, and while one is under way or has failed. */
  #state: State | undefined;

  /** @param hold default: a generation holds its segments */
  constructor(options: Partial<ZoneOptions> = {}, weights = WEIGHTS, hold = holdInBranch) {
    this.#options = { ...DEFAULT_ZONE_OPTIONS, ...options };
    this.#weights = weights;
    this.#hold = hold;
  }

  /**
   * Compiles the next generation, and yields after each segment and about each millisecond. Between two turns the source may change, if the next call names what changed. A
   * compilation that fails or is given up is followed by one of everything, whatever `change` says.
   * @param change what changed since the generation before, or that everything may have
   * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone.
   * @throws {CapacityError} if a segment would exceed a limit of the format.
   */
  *compile(
    source: ZoneSource,
    change: ZoneChange | "all",
    { serial, history }: CompileOptions,
  ): Generator<void, CompiledZones> {
    const known = change === "all" ? undefined : this.#state;
    this.#state = undefined;
    const state = known ?? emptyState(this.#weights, this.#hold);
    const asked = known === undefined || change === "all" ? everything(source) : change;
    const clusters = new Map(source.clusters.map((cluster) => [cluster.clusterId, cluster]));
    let frame = state.trunk?.frame;
    if (state.context === undefined || asked.clusters) {
      state.context = createContext(source, this.#options);
      frame = yield* compileFrame(state.context, source);
    }
    // The order of the shards of a federation depends on all clusters.
    const federated = this.#options.federations.length === 0 ? "" : textOfClusters(source);
    const isEachKeyOther = federated !== state.federated;
    if (isEachKeyOther) state.names.trie.changeAll();
    state.federated = federated;
    const touched = yield* touch(state, source, clusters, asked);
    state.reverse.begin(history.orders);
    const { sources } = state;
    const from = { context: state.context, source, clusters, sources, pace: new Pace() };
    // Later on `history` has who wants what is compiled.
    const mostFresh = known === undefined ? (this.#weights.fresh ?? MOST_FRESH) : Number.POSITIVE_INFINITY;
    yield* compileNames(state, from, touched, isEachKeyOther, mostFresh);
    yield* state.reverse.decide(history, new Set(clusters.keys()), asked.clusters ? undefined : touched);
    yield* compileReverse(state, from.pace);
    state.trunk = yield* followTrunk(state, state.context, frame!);
    const generation = new Generation(
      serial,
      state.trunk,
      (yield* pageOf(state.names.trie.top)) as Page<Segment>,
      (yield* pageOf(state.reverse.trie.top)) as Page<ReverseSegment>,
    );
    this.#state = state;
    const { context, findings, reverse } = state;
    return {
      generation,
      findings: findings.joined(context.findings, yield* reverse.findings()),
      reverse: reverse.history(),
    };
  }
}

function emptyState(weights: SegmentWeights, hold: HoldSegment): State {
  return {
    hold,
    ...{
      names: new NameKeys(weights.names),
      reverse: new ReverseIndex(weights.reverse),
      sources: new HeldSources(),
      stems: new StemCounts(),
      locals: new LocalZones(),
    },
    ...{ findings: new KeyFindings(), federated: "", context: undefined, trunk: undefined },
  };
}

/** The views of clusters, and how far they are from each other. */
function textOfClusters({ clusters, withAbsent }: ZoneSource): string {
  return JSON.stringify([
    withAbsent,
    clusters.map(({ clusterId, region, zones }) => [clusterId, region, zones]),
  ]);
}

function everything(source: ZoneSource): ZoneChange {
  return { clusters: true, services: source.serviceKeys(), local: new Map() };
}

/** Takes over what changed. @returns the keys of names that may be other ones now */
function* touch(
  { names, locals, context }: State,
  source: ZoneSource,
  clusters: ReadonlyMap<string, SourceCluster>,
  { clusters: haveClustersChanged, services, local }: ZoneChange,
): Generator<void, ReadonlySet<string>> {
  const touched = new Set<string>(services);
  let count = 0;
  const changed = function* (): Generator<string> {
    if (haveClustersChanged) {
      for (const key of context!.hosts.keys()) if (key !== "") yield key;
      yield* locals.follow(names, clusters, context!.treeByKey);
    }
    for (const [clusterId, change] of local) {
      const cluster = clusters.get(clusterId);
      if (cluster === undefined) continue;
      for (const key of change.services) yield* names.placeService(cluster, key);
      for (const key of change.pods) yield* names.placePod(cluster, key);
    }
  };
  for (const key of changed()) {
    touched.add(key);
    if (++count % KEYS_IN_TURN === 0) yield;
  }
  for (const key of touched) {
    names.update(key, source, clusters, context!.hosts.get(key)?.length ?? 0);
    if (++count % KEYS_IN_TURN === 0) yield;
  }
  return touched;
}

function* compileNames(
  state: State,
  from: KeySource,
  touched: ReadonlySet<string>,
  isEachKeyOther: boolean,
  mostFresh: number,
): Generator<void> {
  const { hold, names, reverse, stems, findings } = state;
  for (const key of names.takeGone()) {
    const before = key.compiled!;
    stems.remove(before.stems);
    findings.remove(before);
    yield* reverse.replace(key.key, before.addresses, WantedAddresses.none);
  }
  for (const node of names.trie.changed) {
    const mayDiffer = ({ key }: NameKey) => isEachKeyOther || touched.has(key);
    const { branch, built, blocks } = yield* compileSegment(from, node.items!, mayDiffer, hold);
    node.result = { branch };
    for (const [key, block] of blocks) {
      const own = built.get(key);
      if (own === undefined) key.compiled!.block = block;
      else {
        const before = key.compiled;
        key.compiled = {
          block,
          stems: stems.add(own.stems),
          findings: own.findings.length === 0 ? NO_FINDINGS : own.findings,
          addresses: own.reverse.list,
        };
        findings.add(key.compiled);
        if (before !== undefined) {
          stems.remove(before.stems);
          findings.remove(before);
        }
        yield* reverse.replace(key.key, before?.addresses ?? AddressList.none, own.reverse);
      }
    }
    if (reverse.fresh > mostFresh) yield* compileReverse(state, from.pace);
    yield;
  }
  names.trie.changed.clear();
}

function* compileReverse({ hold, reverse }: State, pace: Pace): Generator<void> {
  const { trie } = reverse;
  for (const node of trie.changed) {
    node.result = { branch: yield* compileLeaf(node.items!, pace, hold) };
    yield;
  }
  trie.changed.clear();
  reverse.fresh = 0;
}

/** The trunk, taken over from before if neither the frame nor the stems are other ones. */
function* followTrunk({ stems, trunk }: State, context: ZoneContext, frame: Frame): Generator<void, Trunk> {
  const changed: readonly Stem[] | undefined = stems.changed();
  if (trunk !== undefined && changed === undefined && trunk.frame === frame) return trunk;
  return yield* compileTrunk(context, frame, changed ?? stems.all());
}
