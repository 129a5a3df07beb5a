import type { ClusterFinding } from "../merge/clusterset.ts";
import type { ResumedServices } from "../merge/index/scope-change.ts";
import type { MergeOptions } from "../merge/merge.ts";
import type { Answer, Missing } from "../resolve/answer.ts";
import type { Leases } from "../resolve/leases.ts";
import type { Transport } from "../resolve/message/transport.ts";
import type { ReverseHistory } from "../zone/reverse/reverse-history.ts";
import type { ZoneChange, ZoneSource } from "../zone/zone-source.ts";

/** What the gateway needs to know of a generation. */
export interface ServedGeneration {
  /** Hex; equal for equal content. */
  readonly rootHash: string;
  /** The length of all that is in memory. */
  readonly byteLength: number;
}

/** The client of a query, and how the query came. */
export interface QueryContext {
  /** The cluster id of the client, or the view of a place (`localityView`); undefined for outside. */
  readonly view: string | undefined;
  /** How the answer travels. Default: over HTTPS. */
  readonly transport?: Transport | undefined;
}

/** What a query is answered from. */
export interface AnswerContext<Generation> extends QueryContext {
  readonly generation: Generation;
  readonly leases: Leases;
  /** Unix milliseconds. */
  readonly now: number;
  /** Whether the answer has to say that something newer may exist that could not be had. */
  readonly stale: boolean;
}

/** What was compiled. */
export interface CompiledGeneration<Generation> {
  readonly generation: Generation;
  readonly findings: readonly ClusterFinding[];
  /** Who has which address; absent where there are no reverse names. */
  readonly reverse?: ReverseHistory;
}

/** Compiles the generations of one scope, one after the other. */
export interface ScopeCompiler<Generation> {
  /**
   * Compiles in steps. A compilation that fails is followed by one of everything.
   * @param change what changed since the compilation before, or that everything may have
   * @param now Unix milliseconds, for the SOA serial
   * @param history `reverse` of the compilation before
   */
  compile(
    source: ZoneSource,
    change: ZoneChange | "all",
    now: number,
    history?: ReverseHistory,
  ): Generator<void, CompiledGeneration<Generation>>;
  /**
   * Goes on from what a process before compiled of the source as it is now, in steps; a change with `clusters` must follow.
   * @throws {Error} if that cannot be: then everything must be compiled. Default: it cannot be
   */
  resume?(source: ZoneSource): Generator<void, ResumedServices>;
}

/** The pure stages that the gateway joins, with their settings applied. */
export interface GatewayStages<Generation extends ServedGeneration> {
  /** How services are merged. */
  readonly merging?: MergeOptions;
  /** A compiler for each scope, since it goes on from its last result. @param scope as `visibilityKey` has it */
  createCompiler(scope: string): ScopeCompiler<Generation>;
  /** Undefined where `query` is no DNS query at all. */
  resolve(query: Uint8Array, context: AnswerContext<Generation>): Answer | undefined;
  /** The answer while nothing is known: SERVFAIL. Undefined where `query` is no DNS query at all. */
  notReady(query: Uint8Array, context?: QueryContext): Answer | undefined;
}

/** The stages of a gateway that may have parts of what it answers from in memory only. */
export interface PartialStages<Generation extends ServedGeneration>
  extends Pick<GatewayStages<Generation>, "notReady"> {
  /** As `resolve`; names what has to come into memory first, if something has to. */
  resolveOrMiss(query: Uint8Array, context: AnswerContext<Generation>): Answer | Missing | undefined;
}
