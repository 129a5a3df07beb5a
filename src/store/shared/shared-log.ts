import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../cluster-meta.ts";

/**
 * What a cluster was seen with when a change of it was taken, as the gateway that took it decided. Times are Unix milliseconds, keys `<namespace>/<name>`.
 * Null takes a rank away.
 */
export interface Sight {
  readonly seenAt: number;
  /** Of the push that last changed a rank. */
  readonly generation: number;
  /** The reported creation time of an export, and the instant from which it counts. */
  readonly exports: Readonly<Record<string, readonly [reported: string, counts: number] | null>>;
  /** When an import was first seen. */
  readonly imports: Readonly<Record<string, number | null>>;
  /** These are all ranks of the cluster, whatever the log has: only with a whole state. */
  readonly isWhole?: true | undefined;
}

/** When the first day of the clusterset began (Unix milliseconds), and whether it has ended. */
export interface FoundingDay {
  readonly at: number;
  readonly over: boolean;
}

/** Of each address that several clusters report: their claims, first come first; null for one whose order is not needed any more. */
export type AddressOrders = Readonly<Record<string, readonly string[] | null>>;

/** A change of one cluster that a gateway would like to take. */
export interface LogDraft {
  readonly clusterId: string;
  /** `id` of the newest entry of this cluster that it was decided on; undefined where the log has no state of it. */
  readonly base: string | undefined;
  readonly change: LogChange;
  /** What it changes in the ranks. Absent for a cluster that goes. */
  readonly sight?: Sight | undefined;
  readonly founding?: FoundingDay | undefined;
  /**
   * Its entry has the id `<position>-<mark>`, so that the gateway knows it again before the log has replied. No other draft of any gateway has the same; letters, digits, `-` and
   * `_`. Default: a random one.
   */
  readonly mark?: string | undefined;
}

/** `lines` are valid, and are iterated once. */
export type LogChange =
  /** The cluster has the entries of these lines alone. */
  | { readonly kind: "snapshot"; readonly lines: Iterable<PatchLine>; readonly meta: ClusterMeta }
  | { readonly kind: "patch"; readonly lines: Iterable<PatchLine>; readonly meta: ClusterMeta }
  | { readonly kind: "lease"; readonly meta: ClusterMeta }
  /**
   * The cluster left on purpose: what it had up to a generation. Its ranks stay. The log need not have it: gateways may hold what an engine lost, and take that out unless it
   * is newer.
   */
  | { readonly kind: "left"; readonly generation: number }
  /** The lease ended, by the clock of the log. Its ranks stay. */
  | { readonly kind: "expired" };

/** An entry of the log. Each gateway applies all of them, in the order of their positions. */
export type LogEntry = ClusterEntry | OrdersEntry;

/** A change of a cluster that was taken. */
export interface ClusterEntry {
  readonly kind: "snapshot" | "patch" | "lease" | "left" | "expired";
  /** Grows by 1 with each entry. */
  readonly position: number;
  /** No other entry has the same, in no other log. */
  readonly id: string;
  readonly clusterId: string;
  /** Of what left. */
  readonly generation?: number | undefined;
  /** As the gateway that took it wrote it; undefined if the cluster went. Its times are of that gateway's wall clock: only differences count. */
  readonly meta?: ClusterMeta | undefined;
  /** What changed; absent where `stateOf` has to be read instead: whole states, and patches that are too large for an entry. */
  readonly lines?: readonly PatchLine[] | undefined;
  /** What changed in the ranks; absent where nothing did, and, with `lines`, where it is too large for an entry: then `stateOf` has all ranks. */
  readonly sight?: Sight | undefined;
  readonly founding?: FoundingDay | undefined;
}

/** Orders of claims that were decided. */
export interface OrdersEntry {
  readonly kind: "orders";
  readonly position: number;
  readonly orders: AddressOrders;
}

/**
 * A cluster as the log has it now. It may change while `lines` are iterated: afterwards `position`, `id`, `meta`, `elapsed` and `sight` are those of the state that the
 * lines make, so they are read then.
 */
export interface SharedCluster {
  readonly clusterId: string;
  /** Of its newest entry. Entries of the cluster up to this position are in it already. */
  readonly position: number;
  readonly id: string;
  /** Undefined for a cluster that went, of which only ranks are known. */
  readonly meta: ClusterMeta | undefined;
  /** How a cluster went; undefined for one that did not. */
  readonly gone?: Gone | undefined;
  /** Milliseconds since the lease was renewed, by the log's clock. */
  readonly elapsed: number;
  /**
   * All entries, each in one piece; none for a cluster that went. They are read while they are iterated, and not validated. An entry that changes meanwhile comes again
   * after a line that removes it (null).
   * @throws {StoreError} STORE_FAILED; NO_SNAPSHOT for a cluster that is damaged in the engine, which was warned about: only its ranks and its id count
   */
  readonly lines: AsyncIterable<PatchLine>;
  /** All ranks; undefined if nothing is known. */
  readonly sight: Sight | undefined;
}

/** How a cluster went. */
export interface Gone {
  readonly why: "left" | "expired";
  /** The newest that went: nothing that is not newer is there any more. */
  readonly generation: number;
  /** Its meta before; undefined where the log did not have it. */
  readonly meta: ClusterMeta | undefined;
}

/** What the log has beside clusters. */
export interface SharedFacts {
  readonly founding: FoundingDay | undefined;
  readonly orders: AddressOrders;
  /** Everything up to this position, at least, is in what was read. */
  readonly position: number;
}

/** Follows a log. Its methods are called one after the other: the next one when the promise before has resolved. */
export interface LogFollower {
  /** Takes over the next entry. */
  apply(entry: LogEntry): Promise<void>;
  /**
   * The log does not go on from what was applied: entries were trimmed while this gateway was away, or the engine lost what it had acknowledged. What it has now follows;
   * then entries after `facts.position`.
   * @param isLost whether the engine lost entries that were applied here
   */
  reload(clusters: AsyncIterable<SharedCluster>, facts: SharedFacts, isLost: boolean): Promise<void>;
  /** The log can be read again, or cannot be read, for another reason than before. @param reason what the engine or the system said, without secrets; undefined if it can */
  connection(reason: string | undefined): void;
}

/** The base of a draft is not the newest entry of the cluster: nothing was added. */
export class BaseChanged extends Error {
  readonly code = "BASE_CHANGED";
}

/**
 * A log of accepted changes that several gateways share. Beside it lies the current state, by cluster and entry, so that a gateway need not read the log from its
 * beginning, which is trimmed. Equal positions mean equal states.
 */
export interface SharedLog {
  /** Begins a load: the position comes first, so that what changes while clusters are read follows as entries. Clusters whose lease ended are among them. */
  load(): Promise<{ readonly facts: SharedFacts; readonly clusters: AsyncIterable<SharedCluster> }>;
  /** One cluster as it is now; undefined if nothing is known of it. */
  stateOf(clusterId: string): Promise<SharedCluster | undefined>;
  /**
   * Adds a change, and changes the state beside the log with it, at once or not at all.
   * @returns its position
   * @throws {BaseChanged} also where the lease of an `expired` cluster has not ended
   * @throws {StoreError} NO_SNAPSHOT where the log has no entries that a patch, a lease or an end could be of; STORE_FULL, STORE_FAILED: it may have been added all the same, and is among the entries then
   */
  append(draft: LogDraft): Promise<{ readonly position: number; readonly id: string }>;
  /**
   * Decides orders of claims that are not decided: those that another gateway decided since stay as they are, and follow as its entry. An order with a claim of a cluster that left
   * since is not taken: the claim would count again when the cluster comes back.
   * @param before what each decision builds on; absent for none
   * @param position of the newest entry that the decisions know
   */
  decide(orders: AddressOrders, before: AddressOrders, position: number): Promise<void>;
  /** Follows the log from a position, until `close`. Called once. */
  follow(position: number, follower: LogFollower): void;
  close(): Promise<void>;
}
