import type { TreeKey } from "../segment/tree-key.ts";
import type { CandidateSource } from "./reverse-candidate.ts";

/** What the candidates of many services have in common: nearly always those of one cluster. */
type SourceKind = Pick<CandidateSource, "tree" | "view" | "rank" | "ttl" | "clusters" | "claimants"> & {
  /** The labels above the first one that come before those of the service. */
  readonly prefix: readonly string[];
  /** Whether the name of the service comes before its namespace: otherwise it is the first label. */
  readonly hasName: boolean;
};

const EPOCH = Date.UTC(2020, 0, 1);
/** Kinds that are shared: some for each cluster. */
const MOST_KINDS = 8192;

/** A source in little memory: four fields, and a kind that it shares. */
class HeldSource implements CandidateSource {
  readonly namespace: string;
  readonly name: string;
  readonly kind: SourceKind;
  /** Seconds after `EPOCH`, or another time: V8 makes an object of each number that is not an integer of 31 bits. */
  readonly #since: number | { readonly at: number };

  constructor({ namespace, name, since }: CandidateSource, kind: SourceKind) {
    this.namespace = namespace;
    this.name = name;
    this.kind = kind;
    const seconds = (since - EPOCH) / 1000;
    this.#since = (seconds << 1) >> 1 === seconds ? seconds : { at: since };
  }

  get since(): number {
    const since = this.#since;
    return typeof since === "number" ? EPOCH + since * 1000 : since.at;
  }

  get tree(): TreeKey {
    return this.kind.tree;
  }

  get view(): string | undefined {
    return this.kind.view;
  }

  get rank(): 0 | 1 | 2 {
    return this.kind.rank;
  }

  get ttl(): number {
    return this.kind.ttl;
  }

  get clusters(): readonly string[] {
    return this.kind.clusters;
  }

  get claimants(): readonly string[] {
    return this.kind.claimants;
  }

  get above(): readonly string[] {
    const { prefix, hasName } = this.kind;
    return hasName ? [...prefix, this.name, this.namespace, "svc"] : [...prefix, this.namespace, "svc"];
  }
}

/**
 * Sources as they are held as long as their service does not change. With 100,000 endpoints of 10 clusters, the compiler holds 94 bytes of V8's heap
 * for each address with sources as they are, and 30 so.
 */
export class HeldSources {
  readonly #kinds = new Map<string, SourceKind>();

  /** A source that says the same. */
  of(source: CandidateSource): CandidateSource {
    const { above, namespace, name } = source;
    if (above.at(-1) !== "svc" || above.at(-2) !== namespace) return source;
    const hasName = above.at(-3) === name;
    return new HeldSource(source, this.#kindOf(source, above.slice(0, hasName ? -3 : -2), hasName));
  }

  #kindOf(
    { tree, view, rank, ttl, clusters, claimants }: CandidateSource,
    prefix: readonly string[],
    hasName: boolean,
  ): SourceKind {
    const text = JSON.stringify([tree, view ?? 0, rank, ttl, clusters, claimants, prefix, hasName]);
    const known = this.#kinds.get(text);
    if (known !== undefined) return known;
    // Services may be reported by any combination of clusters. Sources keep the kinds that they have.
    if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear();
    const kind = { tree, view, rank, ttl, clusters, claimants, prefix, hasName };
    this.#kinds.set(text, kind);
    return kind;
  }
}
