import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { Page } from "../generation/directory.ts";
import type { Frame } from "../generation/frame.ts";
import { Generation, type Trunk } from "../generation/generation.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../options.ts";
import { Pace } from "../pace.ts";
import { compileLeaf } from "../reverse/compile-leaf.ts";
import type { ReverseHistory } from "../reverse/reverse-history.ts";
import { AddressList, WantedAddresses } from "../reverse/wanted-addresses.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import type { Segment } from "../segment/segment.ts";
import type { SourceCluster, ZoneChange, ZoneSource } from "../zone-source.ts";
import { type CompilerState, emptyState, type SegmentWeights } from "./compiler-state.ts";
import { type HoldSegment, holdInBranch } from "./held-block.ts";
import type { KeySource } from "./key-compiler.ts";
import type { NameKey } from "./name-keys.ts";
import { type CompilerNotes, NoteKind, type ResumedKeys } from "./notes/compiler-notes.ts";
import { basisOf, dropGone, noteNames, noteReverse, readNotes, writeNotes } from "./notes/state-notes.ts";
import { pageOf } from "./pages.ts";
import { compileSegment } from "./segment-compiler.ts";
import type { Stem } from "./stems.ts";
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

/** Segments of about 16 KB. */
const WEIGHTS: SegmentWeights = { names: 160, reverse: 320 };

/** In about 4 MB. An object that compiles 1,000,000 addresses would need 50 MB for them, and so compiles their segments some 16 times. */
const MOST_FRESH = 65_536;
/** In about 4 MB. */
const MOST_POSTPONED = 32_768;
/** Keys that are taken over in one turn: less than a millisecond, also where each is in a leaf that is read. */
const KEYS_IN_TURN = { held: 50, stored: 5 };

/**
 * Compiles the generations of one scope, one after the other: the clusterset zone with its aliases, the zones of single clusters, federation zones.
 * It compiles only the segments of keys that changed. Data that DNS cannot hold becomes a finding; all other data is compiled.
 */
export class ZoneCompiler {
  readonly #options: ZoneOptions;
  readonly #weights: SegmentWeights;
  readonly #hold: HoldSegment;
  readonly #notes: CompilerNotes | undefined;
  /** Undefined before the first compilation, and while one is under way or has failed. */
  #state: CompilerState | undefined;
  /** The newest one: it may be asked for its history until another one has compiled. */
  #last: CompilerState | undefined;

  /**
   * @param hold default: a generation holds its segments
   * @param notes what another compiler may go on from. Default: nothing is noted
   */
  constructor(
    options: Partial<ZoneOptions> = {},
    weights = WEIGHTS,
    hold = holdInBranch,
    notes?: CompilerNotes,
  ) {
    this.#options = { ...DEFAULT_ZONE_OPTIONS, ...options };
    this.#weights = weights;
    this.#hold = hold;
    this.#notes = notes;
  }

  /**
   * Goes on from the notes of another compiler, in steps: the next compilation follows what changed since, as a change with `clusters`. What is noted was compiled with the same
   * options and weights from the source as it is now, but for the keys that are returned.
   * @throws {Error} if that cannot be: then the next compilation is one of everything
   */
  *resume(source: ZoneSource): Generator<void, ResumedKeys> {
    if (this.#notes === undefined) throw new Error("nothing is noted");
    const state = emptyState(this.#weights, this.#hold, this.#notes);
    const context = createContext(source, this.#options);
    const clusters = clustersById(source);
    const resumed = yield* readNotes(state, this.#notes, clusters, context, this.#federatedOf(source));
    this.#state = state;
    this.#last = state;
    return resumed;
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
    const state = known ?? this.#begin();
    const asked = known === undefined || change === "all" ? everything(source) : change;
    const clusters = clustersById(source);
    let frame = state.trunk?.frame;
    if (state.context === undefined || asked.clusters) {
      state.context = createContext(source, this.#options);
      frame = yield* compileFrame(state.context, source);
    }
    // The order of the shards of a federation depends on all clusters.
    const federated = this.#federatedOf(source);
    const isEachKeyOther = federated !== state.federated;
    if (isEachKeyOther) state.names.trie.changeAll();
    state.federated = federated;
    const touched = yield* touch(state, source, clusters, asked);
    state.reverse.begin(history.orders);
    const { sources } = state;
    const from = { context: state.context, source, clusters, sources, pace: new Pace() };
    // Later on `history` has who wants what is compiled.
    const mostFresh = known === undefined ? (this.#weights.fresh ?? MOST_FRESH) : Number.POSITIVE_INFINITY;
    dropGone(state, NoteKind.names, state.names.trie);
    yield* compileNames(state, from, { touched, isEachKeyOther, mostFresh });
    yield* state.reverse.decide(history, new Set(clusters.keys()), asked.clusters ? undefined : touched);
    yield* compileReverse(state, from.pace);
    state.trunk = yield* followTrunk(state, state.context, frame!);
    const generation = new Generation(
      serial,
      state.trunk,
      (yield* pageOf(state.names.trie.top)) as Page<Segment>,
      (yield* pageOf(state.reverse.trie.top)) as Page<ReverseSegment>,
    );
    const basis = asked.clusters ? basisOf(state, federated) : undefined;
    yield* writeNotes(state, { source, touched, basis });
    this.#state = state;
    const { context, findings, reverse } = state;
    return {
      generation,
      findings: findings.joined(context.findings, yield* reverse.findings()),
      reverse: reverse.history(),
    };
  }

  /** A state with nothing in it, which has the notes from now on. */
  #begin(): CompilerState {
    if (this.#last !== undefined) this.#last.isOver = true;
    this.#notes?.clear();
    this.#last = emptyState(this.#weights, this.#hold, this.#notes);
    return this.#last;
  }

  #federatedOf(source: ZoneSource): string {
    return this.#options.federations.length === 0 ? "" : textOfClusters(source);
  }
}

function clustersById({ clusters }: ZoneSource): ReadonlyMap<string, SourceCluster> {
  return new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
}

/** The views of clusters, and how far they are from each other. */
function textOfClusters({ clusters, withAbsent }: ZoneSource): string {
  return JSON.stringify([
    withAbsent,
    clusters.map(({ clusterId, region, zones }) => [clusterId, region, zones]),
  ]);
}

function* keysOf(source: ZoneSource): Generator<string> {
  yield* source.serviceKeys();
  yield* source.reportedKeys?.() ?? [];
}

function everything(source: ZoneSource): ZoneChange {
  return { clusters: true, services: keysOf(source), local: new Map() };
}

/** Takes over what changed. @returns the keys of names that may be other ones now */
function* touch(
  { names, locals, context }: CompilerState,
  source: ZoneSource,
  clusters: ReadonlyMap<string, SourceCluster>,
  { clusters: haveClustersChanged, services, local }: ZoneChange,
): Generator<void, ReadonlySet<string>> {
  const touched = new Set<string>(services);
  let count = 0;
  const inTurn = names.trie.isStored ? KEYS_IN_TURN.stored : KEYS_IN_TURN.held;
  const changed = function* (): Generator<string | undefined> {
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
    if (key !== undefined) touched.add(key);
    if (++count % inTurn === 0) yield;
  }
  for (const key of touched) {
    names.update(key, source, clusters, context!.hosts.get(key)?.length ?? 0);
    if (++count % inTurn === 0) yield;
  }
  return touched;
}

/** What names are compiled by. */
interface NamesChange {
  readonly touched: ReadonlySet<string>;
  readonly isEachKeyOther: boolean;
  /** New addresses that memory holds with their names before their segments are compiled. */
  readonly mostFresh: number;
}

function* compileNames(
  state: CompilerState,
  from: KeySource,
  { touched, isEachKeyOther, mostFresh }: NamesChange,
): Generator<void> {
  const { hold, names, reverse, stems, findings } = state;
  const isFirst = mostFresh < Number.POSITIVE_INFINITY;
  // A first compilation lets each leaf go before it reads the next one.
  const afterLeaf = isFirst && reverse.trie.isStored ? () => compileReverse(state, from.pace) : undefined;
  const mostPostponed = afterLeaf === undefined ? MOST_POSTPONED : mostFresh;
  const replace = function* (key: string, before: AddressList, next: WantedAddresses): Generator<void> {
    yield* reverse.replace(key, before, next);
    if (reverse.postponed > mostPostponed) yield* reverse.replacePostponed(afterLeaf);
  };
  for (const key of names.takeGone()) {
    const before = key.compiled!;
    stems.remove(before.stems);
    findings.set(key.key, []);
    yield* replace(key.key, before.addresses, WantedAddresses.none);
  }
  for (const node of names.trie.changed) {
    const mayDiffer = ({ key }: NameKey) => isEachKeyOther || touched.has(key);
    const { branch, built, blocks } = yield* compileSegment(from, names.trie.itemsOf(node), mayDiffer, hold);
    names.trie.compiled(node, { branch });
    for (const [key, block] of blocks) {
      const own = built.get(key);
      if (own === undefined) key.compiled!.block = block;
      else {
        const before = key.compiled;
        key.compiled = { block, stems: stems.add(own.stems), addresses: own.reverse.list };
        findings.set(key.key, own.findings);
        if (before !== undefined) stems.remove(before.stems);
        yield* replace(key.key, before?.addresses ?? AddressList.none, own.reverse);
      }
    }
    noteNames(state, from.source, node);
    if (reverse.fresh > mostFresh) yield* compileReverse(state, from.pace);
    yield;
  }
  if (afterLeaf !== undefined) yield* reverse.replacePostponed(afterLeaf);
}

function* compileReverse(state: CompilerState, pace: Pace): Generator<void> {
  const { hold, reverse } = state;
  const { trie } = reverse;
  dropGone(state, NoteKind.reverse, trie);
  for (const node of trie.changed) {
    trie.compiled(node, { branch: yield* compileLeaf(trie.itemsOf(node), pace, hold) });
    noteReverse(state, node);
    yield;
  }
  reverse.fresh = 0;
}

/** The trunk, taken over from before if neither the frame nor the stems are other ones. */
function* followTrunk(
  { stems, trunk }: CompilerState,
  context: ZoneContext,
  frame: Frame,
): Generator<void, Trunk> {
  const changed: readonly Stem[] | undefined = stems.changed();
  if (trunk !== undefined && changed === undefined && trunk.frame === frame) return trunk;
  return yield* compileTrunk(context, frame, changed ?? stems.all());
}
