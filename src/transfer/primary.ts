import { hexOf, Kind } from "../database/places.ts";
import {
  claimedAddressesIn,
  entryValue,
  exportersOf,
  type LogRow,
  type Reader,
  readClaims,
} from "../database/reader.ts";
import { formatAddress, parseAddress } from "../dns/address.ts";
import { MAX_LABEL_BYTES } from "../dns/name.ts";
import type { Steps } from "../dns/steps.ts";
import type { AnsweringState } from "../gateway/answering-state.ts";
import type { Turns } from "../gateway/clock.ts";
import type { ScopedGateway } from "../gateway/gateway-types.ts";
import type { PinTable } from "../merge/grants.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { Visibility } from "../merge/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../merge/visible.ts";
import { type AddressClaim, addressClaim, createClaimFilter, isOfImport } from "../names/entries.ts";
import type { Mark } from "../names/key-changes.ts";
import { type KeyWorld, NO_UNIT } from "../names/key-world.ts";
import { withFirstOrders } from "../names/reverse-names.ts";
import { listServices } from "../names/services.ts";
import { sha256Of } from "../snapshot/parse.ts";
import { isKeyLabel } from "../zone/kinds/endpoint-records.ts";
import {
  type ListKind,
  type NameList,
  type PartKind,
  readMark,
  type SentBucket,
  type SentChange,
  sentWorld,
  writeChange,
  writeJson,
  writeKey,
  writeReverse,
} from "./part-forms.ts";
import type { SentState } from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Services of one part of a list. */
const MOST_LISTED = 1000;

/** What a primary is put together from. */
export interface PrimaryParts {
  readonly gateway: Pick<AnsweringState, "position" | "scopes" | "unwrittenExpiries">;
  /** Of the same database. */
  readonly reader: Reader;
  readonly turns: Pick<Turns, "run">;
  /**
   * Text of all that names depend on beside pushes: the program's version, its settings, and what clusters
   * may do.
   */
  readonly settings: string;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** What a primary gives the readers of one scope. */
export interface ScopeTransfer {
  state(): SentState;
  /**
   * @param query of the path of the part
   * @returns undefined where the log does not have its version, or there is no such part
   */
  part(kind: PartKind, query: (name: string) => string): Bytes | undefined | Promise<Bytes | undefined>;
}

/**
 * What a primary gives its readers, in each scope what exists there. Nothing is kept but the newest changes.
 */
export class Primary {
  readonly #parts: PrimaryParts;
  readonly #scopes = new Map<string, ScopeTransfer>();
  #window: ChangeWindow | undefined;
  /** How often the database was loaded from a shared log when the window was begun. */
  #loads: string | undefined;
  /** Each request needs the epoch, and settings are long. */
  #hashed: { readonly log: string | undefined; readonly epoch: string } | undefined;

  constructor(parts: PrimaryParts) {
    this.#parts = parts;
  }

  /**
   * Of all versions: another log, or other settings, may give a version to other names. Gateways that share a
   * log have the same.
   */
  get #epoch(): string {
    const { reader, settings } = this.#parts;
    const log = reader.meta("log") ?? reader.meta("id");
    if (this.#hashed?.log !== log)
      this.#hashed = { log, epoch: hashOf(new TextEncoder().encode(`${log} ${settings}`)) };
    return this.#hashed!.epoch;
  }

  /**
   * What readers of a scope get, by its `visibilityKey`; undefined where the gateway was not opened with that
   * scope.
   */
  of(scope: string): ScopeTransfer | undefined {
    const known = this.#scopes.get(scope);
    const gateway = this.#parts.gateway.scopes.get(scope);
    if (known !== undefined || gateway === undefined) return known;
    const transfer = this.#open(gateway, scope);
    this.#scopes.set(scope, transfer);
    return transfer;
  }

  #open(gateway: ScopedGateway, scope: string): ScopeTransfer {
    const rows = new ScopeRows(this.#parts.reader, scope === "" ? {} : (JSON.parse(scope) as Visibility));
    const worlds = new WeakMap<KeyWorld, { readonly bytes: Bytes; readonly hash: string }>();
    /** What the names of a world depend on beside keys. */
    const sentOf = (world: KeyWorld) => {
      let sent = worlds.get(world);
      if (sent === undefined) {
        const bytes = writeJson(sentWorld(world.context.options, world.entries));
        sent = { bytes, hash: hashOf(bytes) };
        worlds.set(world, sent);
      }
      return sent;
    };
    return {
      state: () => {
        const at = this.#parts.clock();
        const { storeTrouble: _, position: __, neverSeen: ___, ...status } = gateway.status();
        const world = gateway.current(at)?.world;
        const window = this.#follow();
        const { base, recent, newest } = window;
        const unwritten = Array.from(this.#parts.gateway.unwrittenExpiries())
          .filter(([cluster]) => rows.hasCluster(cluster))
          .map(([, since]) => since);
        const { behindSince = Number.POSITIVE_INFINITY } = status;
        return {
          at,
          ...(scope !== "" && { scope }),
          epoch: this.#epoch,
          base: [base.position, base.generation],
          recent: [recent.position, recent.generation],
          changes: window.between(recent, newest)!.map((row) => changeIn(rows, row)),
          ...(world !== undefined && { world: sentOf(world).hash, serial: world.serial }),
          status: {
            ...status,
            ...(unwritten.length > 0 && { behindSince: Math.min(behindSince, ...unwritten) }),
          } as SentState["status"],
        };
      },
      part: (kind, query) => {
        const world = gateway.current(this.#parts.clock())?.world;
        const window = this.#follow();
        if (world === undefined || query("epoch") !== this.#epoch) return undefined;
        const version = query("v");
        if (kind === "world") {
          const { bytes, hash } = sentOf(world);
          return hash === version ? bytes : undefined;
        }
        const mark = readMark(version);
        if (mark === undefined || !window.has(mark)) return undefined;
        if (kind === "changes") {
          const from = readMark(query("from"));
          const changes = from && window.between(from, mark);
          return changes && writeJson(changes.map((row) => changeIn(rows, row)));
        }
        const { turns } = this.#parts;
        if (kind === "services") return turns.run(servicesOf(world, query));
        // What is made later may have less than the newest change by then, and no less than this one.
        const { position } = this.#parts.gateway;
        if (kind === "claims") return turns.run(claimsOf(rows, query("bucket"), world.rules.pins, position));
        return gateway.withNames((served) => served && partOf(kind, query, served.world, rows, position));
      },
    };
  }

  #follow(): ChangeWindow {
    const { gateway, reader } = this.#parts;
    const loads = reader.meta("loads");
    if (loads !== this.#loads) this.#window = undefined;
    this.#loads = loads;
    this.#window ??= new ChangeWindow(reader, gateway.position);
    this.#window.follow(gateway.position);
    return this.#window;
  }
}

function partOf(
  kind: Exclude<PartKind, "world" | "changes" | "services" | "claims">,
  query: (name: string) => string,
  world: KeyWorld,
  rows: ScopeRows,
  at: number,
): Bytes | undefined {
  const unit = () => {
    const planned = world.treeOf(query("zone"));
    return planned === undefined ? NO_UNIT : world.unitOf(planned, `${query("namespace")}/${query("label")}`);
  };
  switch (kind) {
    case "key":
      return writeKey(at, unit());
    case "reverse":
      return writeReverse(at, unit());
    case "names": {
      const list = rows.list(query("list") as ListKind, query("of"), query("prefix"));
      return list && writeJson({ at, ...list });
    }
    case "below": {
      const planned = world.context.treeByKey.get(query("tree"));
      const has = planned !== undefined && world.hasServiceNames(planned, query("namespace"));
      return writeJson({ at, has });
    }
  }
}

function* claimsOf(rows: ScopeRows, bucket: string, pins: PinTable, at: number): Steps<Bytes> {
  return writeJson({ at, ...(yield* rows.claims(bucket, pins)) });
}

/** A part of the list of services, in steps. */
function* servicesOf(world: KeyWorld, query: (name: string) => string): Steps<Bytes> {
  const words = query("words")
    .split(" ")
    .filter((word) => word !== "");
  const view = query("view") === "" ? undefined : query("view");
  const [offset, most] = ["offset", "most"].map((name) => Number(query(name)) || 0) as [number, number];
  const search = { words, view, offset, most: Math.min(most, MOST_LISTED) };
  return writeJson(yield* listServices(world, search));
}

/** A change as far as it concerns a scope. */
function changeIn(rows: ScopeRows, row: LogRow): SentChange {
  if (!rows.hasCluster(row.cluster)) return [row.generation];
  const keys = row.keys?.filter((key) => rows.hasKey(key));
  const isSilent = keys?.length === 0 && (row.kind === "changes" || row.kind === "whole");
  return isSilent ? [row.generation] : writeChange({ ...row, keys });
}

/** The name of bytes: 128 bits of their SHA-256, in hexadecimal digits. */
function hashOf(bytes: Uint8Array): string {
  return hexOf(sha256Of(bytes).subarray(0, 16));
}

/** Names of one list. With more, it says how they begin, and names are requested by one character more. */
const MOST_NAMES = 4096;
/** Stands for any name, in a list that would be too long. */
export const ANY_NAME = "*";

/** Lists what exists in a scope, whichever clusters are live: so a list stays right when one comes back. */
class ScopeRows {
  readonly #reader: Reader;
  readonly #filter: EntryFilter | undefined;
  readonly #hidesClusters: boolean;

  constructor(reader: Reader, visibility: Visibility) {
    this.#reader = reader;
    this.#filter = createEntryFilter(visibility);
    this.#hidesClusters = visibility.clusters !== undefined;
  }

  /** @param of a namespace, or of pods a cluster, a space and a row @param prefix how the names begin */
  list(list: ListKind, of: string, prefix: string): NameList | undefined {
    switch (list) {
      case "namespaces":
        return this.#namespaces(prefix);
      case "labels":
        return this.#labels(of, prefix);
      case "pods":
        return { names: this.#pods(of) };
      case "buckets": {
        const names = this.#reader.claimBuckets(prefix, MOST_NAMES + 1);
        return names.length > MOST_NAMES
          ? split(names[0]!, this.#reader.lastClaimBucket(prefix)!)
          : { names };
      }
      default:
        return undefined;
    }
  }

  /** In steps: a scope that hides addresses has to read each service that reports one of the bucket. */
  *claims(bucket: string, pins: PinTable): Steps<SentBucket> {
    const found = new Map<string, AddressClaim[]>();
    const namespaces = new Set<string>();
    const exists = createClaimFilter(this.#reader, this.#filter, bucket, (key) => this.#isExported(key));
    for (const { cluster, text } of this.#reader.claimsIn(bucket)) {
      if (!this.hasCluster(cluster)) continue;
      const claims = JSON.parse(text);
      for (const hex of claimedAddressesIn(claims))
        for (const claim of readClaims(cluster, claims, hex)) {
          yield;
          const { name, basis } = claim;
          // An import exists while a cluster of the scope exports the service.
          if (this.#hidesClusters && (isOfImport(basis) || basis === "other") && this.hasKey(name))
            namespaces.add(namespaceOf(name));
          if (exists(claim, hex)) found.set(hex, [...(found.get(hex) ?? []), addressClaim(claim, pins)]);
        }
    }
    const sent = Array.from(found, ([hex, claims]) => [
      hex,
      withFirstOrders(claims).map(({ clusterId, key, basis, order }) => [clusterId, key, basis, order]),
    ]);
    return { claims: Object.fromEntries(sent), namespaces: [...namespaces] };
  }

  /** Whether a cluster of the scope exports a service, live or not. */
  #isExported(key: string): boolean {
    return exportersOf(this.#reader, key).some((cluster) => this.hasCluster(cluster));
  }

  hasCluster(cluster: string): boolean {
    return this.#filter?.hasCluster(cluster) !== false;
  }

  /** Whether a key of the log may concern what exists. */
  hasKey(key: string): boolean {
    const slash = key.indexOf("/");
    return !key.startsWith("!") && (slash < 0 || this.#hasNamespace(key.slice(0, slash)));
  }

  #namespaces(prefix: string): NameList {
    // Keys of buckets come before all namespaces.
    const [from, to] = [prefix === "" ? "-" : prefix, `${prefix}\x7f`];
    const all = this.#reader.namespacesFrom(from, to, MOST_NAMES + 1);
    if (all.length > MOST_NAMES) return split(all[0]!, namespaceOf(this.#reader.lastKey(from, to)!));
    const isAnywhere = this.#hidesClusters ? this.#inClusters() : () => true;
    const names = all.filter(
      (namespace) => isKeyLabel(namespace) && this.#hasNamespace(namespace) && isAnywhere(namespace),
    );
    return { names };
  }

  #labels(namespace: string, prefix: string): NameList {
    const clusters = this.#hasNamespace(namespace)
      ? this.#reader.clustersWith(namespace).filter((id) => this.hasCluster(id))
      : [];
    if (!this.#hasNamespace(namespace)) return { names: [], clusters };
    // The key of the namespace itself ends with the slash.
    const [from, to] = [`${namespace}/${prefix === "" ? "!" : prefix}`, `${namespace}/${prefix}\x7f`];
    const rows = this.#reader.keysFrom(from, to, MOST_NAMES + 1);
    if (rows.length > MOST_NAMES)
      return { ...split(nameOf(rows[0]!.key), nameOf(this.#reader.lastKey(from, to)!)), clusters };
    const names = new Set<string>();
    // Others have no names, and are no labels: one may be ANY_NAME.
    for (const { key, cluster } of rows)
      if (this.hasCluster(cluster) && isKeyLabel(nameOf(key))) names.add(nameOf(key));
    return { names: [...names], clusters };
  }

  /**
   * Keys of pods in a row of a cluster, with addresses in their usual form.
   * @param of the cluster, a space, and the row
   */
  #pods(of: string): string[] {
    const [cluster, bucket] = of.split(" ") as [string, string?];
    const row = this.hasCluster(cluster) ? this.#reader.entry(cluster, Kind.pods, bucket ?? "") : undefined;
    const found = new Set<string>();
    for (const key of row === undefined ? [] : Object.keys(entryValue(row) as object)) {
      const bytes = parseAddress(nameOf(key));
      const isNamed = bytes !== undefined && isKeyLabel(namespaceOf(key));
      if (isNamed && this.#filter?.hasPod(key) !== false)
        found.add(`${namespaceOf(key)}/${formatAddress(bytes)}`);
    }
    return [...found];
  }

  #hasNamespace(namespace: string): boolean {
    return this.#filter?.hasNamespace(namespace) !== false;
  }

  /** Whether a cluster of the scope has a namespace. */
  #inClusters(): (namespace: string) => boolean {
    const clusters = this.#reader.clusters().filter(({ id }) => this.hasCluster(id));
    return (namespace) => clusters.some(({ id }) => this.#reader.hasAny(id, namespace));
  }
}

/** A list that is too long: how the names between two begin. */
function split(first: string, last: string): NameList {
  let length = 0;
  const most = Math.min(first.length, MAX_LABEL_BYTES);
  while (length < most && first[length] === last[length]) length++;
  const common = first.slice(0, length);
  return { names: first === common ? [common] : [], common };
}

/** Changes after which the base moves, and keys of them. */
const MOST_CHANGES = 1024;
const MOST_KEYS = 4096;
/**
 * A state has fewer changes than this, and about as many keys of them; those before are a part of their own.
 */
const RECENT = 64;
const RECENT_KEYS = 256;

/**
 * The newest changes of the log. A key that did not change since the base has one version as long as the base
 * stays, so names in use are fetched anew rarely. Changes are kept from the base before on, so that readers
 * can follow when it moves.
 */
class ChangeWindow {
  readonly #reader: Reader;
  /** What is before the first change. */
  #from: Mark;
  #base: Mark;
  #rows: LogRow[] = [];
  /** Of the changes since the base. */
  #keys = 0;
  #recent: Mark;
  #recentKeys = 0;

  /** @param at the newest position that is served */
  constructor(reader: Reader, at: number) {
    this.#reader = reader;
    this.#base = this.#from = this.#recent = this.#markAt(at - (at % MOST_CHANGES));
    this.follow(at);
  }

  get base(): Mark {
    return this.#base;
  }

  get newest(): Mark {
    return this.#rows.at(-1) ?? this.#from;
  }

  /** After which a state has the changes itself. */
  get recent(): Mark {
    return this.#recent;
  }

  /** Takes over the log up to a position. */
  follow(to: number): void {
    while (this.newest.position < to) {
      const rows = this.#reader.changesSince(this.newest.position, to - this.newest.position);
      if (rows === undefined || rows.length === 0) {
        this.#base = this.#from = this.#recent = this.#markAt(to);
        this.#rows = [];
        this.#keys = 0;
        this.#recentKeys = 0;
        return;
      }
      for (const row of rows) this.#take(row);
    }
  }

  #take(row: LogRow): void {
    this.#rows.push(row);
    this.#keys += row.keys?.length ?? 0;
    this.#recentKeys += row.keys?.length ?? 0;
    if (row.position % RECENT === 0 || this.#recentKeys > RECENT_KEYS) {
      this.#recent = row;
      this.#recentKeys = 0;
    }
    if (row.position - this.#base.position < MOST_CHANGES && this.#keys < MOST_KEYS) return;
    this.#rows = this.#rows.slice(this.#base.position - this.#from.position);
    this.#from = this.#base;
    this.#base = row;
    this.#keys = 0;
  }

  /** The changes after a mark, up to another one; undefined where it does not have both. */
  between(from: Mark, to: Mark): readonly LogRow[] | undefined {
    if (!this.has(from) || !this.has(to)) return undefined;
    const { position } = this.#from;
    return this.#rows.slice(from.position - position, to.position - position);
  }

  /** Whether the log has that change, as far as the window reaches. */
  has({ position, generation }: Mark): boolean {
    const mark =
      position === this.#from.position ? this.#from : this.#rows[position - this.#from.position - 1];
    return mark?.generation === generation;
  }

  #markAt(position: number): Mark {
    const row = position === 0 ? undefined : this.#reader.changesSince(position - 1, 1)?.[0];
    return { position, generation: row?.generation ?? 0 };
  }
}
