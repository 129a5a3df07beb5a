import type { ClustersetService } from "../merge/clusterset.ts";
import type { ClusterZone, LocalService } from "../snapshot/schema.ts";

/** Names that are looked up and listed: a `Set` or a `Map`. */
type Names = Pick<ReadonlySet<string>, "has"> & Listed;

interface Listed {
  keys(): Iterable<string>;
}

/** A live cluster, as the zones need it. */
export interface SourceCluster {
  readonly clusterId: string;
  /** Another number if it left and joined again: then `ZoneChange.local` does not name what its zone had. */
  readonly joined?: number;
  readonly namespaces: Names;
  readonly region?: string | undefined;
  /** Topology zones of its nodes, sorted. */
  readonly zones: readonly string[];
  /** The zone that it wants served to itself. Default: none. */
  readonly localZone?: SourceLocalZone | undefined;
}

/** A cluster's own zone. */
export interface SourceLocalZone {
  readonly zone: ClusterZone;
  /** By `<namespace>/<name>`. */
  readonly services: Pick<ReadonlyMap<string, LocalService>, "get"> & Listed;
  /** `<namespace>/<address>` of each pod. */
  readonly pods: Names;
}

/**
 * What generations of one scope are compiled from. The gateway owns it and may change it between two turns of a compilation, which reads it
 * while it compiles one segment and keeps nothing but entries. A key that changes after the compilation began is named in the next `ZoneChange`.
 * Entries (services, zones) are immutable: a changed one is another object.
 */
export interface ZoneSource {
  /** By ascending cluster id. Only a `ZoneChange` with `clusters` may follow a change of anything but `services` and `pods` of their zones. */
  readonly clusters: readonly SourceCluster[];
  /** Whether clusters that are not live have a view (`ABSENT_CLUSTER`). */
  readonly withAbsent: boolean;
  /** `<namespace>/<name>` of every service of the clusterset. */
  serviceKeys(): Iterable<string>;
  service(key: string): ClustersetService | undefined;
  /** `service`, merged in steps: once for each key of a segment that is compiled. Default: services are merged already. */
  serviceInSteps?(key: string): Generator<void, ClustersetService | undefined>;
  /** `sizeOfService` of a service, without merging it; undefined where there is none. */
  sizeOf(key: string): number | undefined;
  /** A number that the source needs of a key to go on from notes. Default: none. */
  noteOf?(key: string): number | undefined;
  /** Whether merging found something to report of a key. Notes do not hold findings: a start from notes compiles such a key again. Default: no key. */
  isReported?(key: string): boolean;
  /** All keys of which `isReported` is true. */
  reportedKeys?(): Iterable<string>;
}

/** What changed since the generation before. A key that did not change costs time and changes nothing. */
export interface ZoneChange {
  /**
   * Whether cluster ids, namespaces, regions, zones, `withAbsent` or settings of own zones changed. Then the root follows, and the answers of
   * federations. Services of the clusterset that merge differently because of it are in `services`; own zones are compared here.
   */
  readonly clusters: boolean;
  /** Keys of services of the clusterset that were added, changed or removed. */
  readonly services: Iterable<string>;
  /** By cluster id: keys of services and pods of its own zone that were added, changed or removed. */
  readonly local: ReadonlyMap<string, LocalChange>;
}

/** What changed in a cluster's own zone. */
export interface LocalChange {
  readonly services: Iterable<string>;
  readonly pods: Iterable<string>;
}
