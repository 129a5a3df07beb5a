import { usableAddress } from "../../dns/address.ts";
import { FOLD } from "../../dns/name.ts";
import { compareText } from "../../merge/order.ts";
import { memberNames } from "../../snapshot/held/member-names.ts";
import type { LocalService } from "../../snapshot/schema.ts";
import { localNameKey } from "../kinds/cluster-local.ts";
import { podLabels } from "../kinds/service-labels.ts";
import type { AddressList } from "../reverse/wanted-addresses.ts";
import { keyHash } from "../segment/name-hash.ts";
import type { SourceCluster, ZoneSource } from "../zone-source.ts";
import type { HeldBlock } from "./held-block.ts";
import type { LeafPlace } from "./notes/compiler-notes.ts";
import type { Stem } from "./stems.ts";
import { HashTrie, type TrieItem } from "./trie/hash-trie.ts";
import type { LeafRows, TrieNode } from "./trie/trie.ts";

/** What a service or pod weighs besides its endpoints and addresses, each of which weighs 1. */
const OBJECT_WEIGHT = 3;

/** A Service or pod in a cluster's own zone, by its key there. */
export interface LocalObject {
  readonly clusterId: string;
  readonly kind: "service" | "pod";
  readonly key: string;
}

/** The names with one namespace and one label left of it: in the clusterset, the federations, and the zones of all clusters. */
export interface NameKey extends TrieItem {
  /** `<namespace>/<label>`. */
  readonly key: string;
  /** Sorted by cluster id, kind and key. */
  locals: readonly LocalObject[];
  /** What it was compiled to; undefined before. */
  compiled: CompiledKey | undefined;
}

/** What is kept of a key after it was compiled. */
export interface CompiledKey {
  /** Its names in the segment of its leaf. */
  block: HeldBlock;
  /** The namespaces that its names are in. */
  readonly stems: readonly Stem[];
  /** The addresses whose reverse names it wants. */
  readonly addresses: AddressList;
}

/** A key as a note has it. */
export type NotedKey = Pick<NameKey, "key" | "weight" | "locals" | "compiled">;

/** Where keys are noted, so that memory need not have them. */
interface KeyRows<Result> extends Pick<LeafRows<never, never>, "mostHeld"> {
  /** The keys of a leaf. */
  readonly read: (leaf: TrieNode<Set<NameKey>, Result>) => readonly NotedKey[];
}

const NO_LOCALS: readonly LocalObject[] = [];

/** All keys of names, in leaves that are segments. */
export class NameKeys<Result> {
  readonly trie: HashTrie<NameKey, Result>;
  /** Those that are in memory. */
  readonly #keys = new Map<string, NameKey>();
  /** By cluster id and key of a Service with a dotted name: the key of that name. */
  readonly #dotted = new Map<string, string>();
  #gone: NameKey[] = [];

  /**
   * @param target what a segment weighs at most, if it has several keys
   * @param rows where keys are noted. Default: memory has all of them
   */
  constructor(target: number, rows?: KeyRows<Result>) {
    this.trie = new HashTrie(
      target,
      rows && {
        mostHeld: rows.mostHeld,
        read: (leaf) =>
          new Set(rows.read(leaf).map((noted) => Object.assign(this.#create(noted.key), noted))),
        drop: (keys) => {
          for (const { key } of keys) this.#keys.delete(key);
        },
      },
    );
  }

  /** Puts a compiled leaf where it was. @param dotted the keys of Services with dotted names in it, see `dottedOf` */
  place(
    place: LeafPlace,
    dotted: readonly DottedName[],
    leaf: { readonly weight: number; readonly count: number; readonly result: Result },
  ): void {
    for (const [service, key] of dotted) this.#dotted.set(service, key);
    this.trie.place(place, leaf);
  }

  /** The keys with an object in a cluster's own zone; undefined after each leaf that was read. */
  *keysOf(clusterId: string): Generator<string | undefined> {
    for (const own of this.#allOf(clusterId)) yield own?.key;
  }

  /** Takes over that a cluster has no zone of its own any more, or another one. @returns the keys of names in it, as `keysOf` */
  *dropCluster(clusterId: string): Generator<string | undefined> {
    for (const own of this.#allOf(clusterId)) {
      if (own === undefined) {
        yield undefined;
        continue;
      }
      this.#setLocals(
        own,
        own.locals.filter((local) => local.clusterId !== clusterId),
      );
      yield own.key;
    }
    for (const dotted of this.#dotted.keys())
      if (dotted.startsWith(`${clusterId} `)) this.#dotted.delete(dotted);
  }

  /** Takes over whether a cluster has a Service in its own zone. @returns the keys of names that it has and had */
  placeService({ clusterId, localZone }: SourceCluster, key: string): readonly string[] {
    const service = localZone?.services.get(key);
    const dotted = `${clusterId} ${key}`;
    const before = this.#dotted.get(dotted) ?? key;
    const now = service === undefined ? undefined : localNameKey(key, service);
    if (now === undefined || now === key) this.#dotted.delete(dotted);
    else this.#dotted.set(dotted, now);
    const local = { clusterId, kind: "service", key } as const;
    this.#removeLocal(before, local);
    if (now !== undefined) this.#addLocal(now, local);
    return now === undefined || now === before ? [before] : [before, now];
  }

  /** Takes over whether a cluster has a pod in its own zone. @returns the keys of its names */
  placePod({ clusterId, localZone }: SourceCluster, key: string): readonly string[] {
    const isServed = localZone?.zone.pods === "verified" && localZone.pods.has(key);
    const slash = key.indexOf("/");
    const bytes = usableAddress(key.slice(slash + 1));
    // A pod without an address is a finding, which a key of its own has.
    const labels = bytes === undefined ? [key.slice(slash + 1)] : podLabels(bytes);
    return labels.map((label) => {
      const nameKey = `${key.slice(0, slash)}/${label}`;
      const local = { clusterId, kind: "pod", key } as const;
      if (isServed) this.#addLocal(nameKey, local);
      else this.#removeLocal(nameKey, local);
      return nameKey;
    });
  }

  #addLocal(key: string, local: LocalObject): void {
    const own = this.#get(key) ?? this.#create(key);
    if (!own.locals.some((one) => compareLocals(one, local) === 0))
      this.#setLocals(own, [...own.locals, local].sort(compareLocals));
  }

  #removeLocal(key: string, local: LocalObject): void {
    const own = this.#get(key);
    if (own?.locals.some((one) => compareLocals(one, local) === 0))
      this.#setLocals(
        own,
        own.locals.filter((one) => compareLocals(one, local) !== 0),
      );
  }

  #setLocals(own: NameKey, locals: readonly LocalObject[]): void {
    own.locals = locals;
    // Until `update` nothing else says that the note of its leaf is another one.
    if (own.weight > 0) this.trie.note(own);
  }

  /** All keys with an object in a cluster's own zone: every leaf is read. */
  *#allOf(clusterId: string): Generator<NameKey | undefined> {
    const isOf = ({ locals }: NameKey) => locals.some((local) => local.clusterId === clusterId);
    for (const leaf of this.trie.leaves()) {
      yield* [...this.trie.itemsOf(leaf)].filter(isOf);
      if (this.trie.isStored) yield undefined;
    }
    for (const own of this.#keys.values()) if (own.weight === 0 && isOf(own)) yield own;
  }

  #get(key: string): NameKey | undefined {
    const own = this.#keys.get(key);
    if (own !== undefined || !this.trie.isStored) return own;
    this.trie.itemsOf(this.trie.leafFor(hashOf(key)));
    return this.#keys.get(key);
  }

  /** Makes the leaves follow what a key has now. */
  update(key: string, source: ZoneSource, clusters: ReadonlyMap<string, SourceCluster>, hosts: number): void {
    const own = this.#get(key) ?? this.#create(key);
    const weight =
      hosts * OBJECT_WEIGHT +
      weightOf(source.sizeOf(key)) +
      own.locals.reduce((sum, { clusterId, kind, key: object }) => {
        const service =
          kind === "service" ? clusters.get(clusterId)?.localZone?.services.get(object) : undefined;
        return sum + OBJECT_WEIGHT + (service === undefined ? 1 : weightOfLocal(service));
      }, 0);
    const isNew = own.weight === 0;
    if (isNew && weight > 0) {
      own.weight = weight;
      this.trie.add(own);
    } else if (!isNew && weight === 0) {
      this.trie.remove(own);
      own.weight = 0;
    } else if (!isNew) this.trie.change(own, weight);
    if (weight === 0) {
      this.#keys.delete(key);
      if (own.compiled !== undefined) this.#gone.push(own);
    }
  }

  /** Keys that are no more, with what they were compiled to. Each is returned once. */
  takeGone(): readonly NameKey[] {
    const gone = this.#gone;
    this.#gone = [];
    return gone;
  }

  #create(key: string): NameKey {
    const own: NameKey = { key, hash: hashOf(key), weight: 0, locals: NO_LOCALS, compiled: undefined };
    this.#keys.set(key, own);
    return own;
  }
}

/** A Service of a cluster (`<cluster id> <namespace>/<name>`) whose name has dots, and so is of a key with another text. */
export type DottedName = readonly [service: string, key: string];

/** The Services with dotted names among the objects of a key. */
export function dottedOf({ key, locals }: Pick<NameKey, "key" | "locals">): DottedName[] {
  return locals.flatMap(({ clusterId, kind, key: object }) =>
    kind === "service" && object !== key ? [[`${clusterId} ${object}`, key] as const] : [],
  );
}

function weightOf(size: number | undefined): number {
  return size === undefined ? 0 : OBJECT_WEIGHT + size;
}

function weightOfLocal({ clusterIPs = [], ports, endpoints }: LocalService): number {
  let weight = clusterIPs.length + ports.length;
  for (const { members } of Object.values(endpoints)) weight += memberNames(members).length;
  return weight;
}

/** The hash of a key is that of its labels on the wire. A text that cannot be a label has some hash, and no names. */
function hashOf(key: string): number {
  const slash = key.indexOf("/");
  const bytes = Uint8Array.from(`\0${key}`, (character) => FOLD[character.charCodeAt(0)] ?? 0);
  bytes[0] = slash;
  bytes[slash + 1] = key.length - slash - 1;
  return keyHash(bytes, 0, slash + 1);
}

function compareLocals(one: LocalObject, other: LocalObject): number {
  return (
    compareText(one.clusterId, other.clusterId) ||
    compareText(one.kind, other.kind) ||
    compareText(one.key, other.key)
  );
}
