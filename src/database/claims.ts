import { usableAddress } from "../dns/address.ts";
import type { EndpointGroups, ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import type { Database, Row, Statement } from "./driver.ts";
import { sumOf } from "./driver.ts";
import { BASES, type Basis, claimBucket, hexOf, Kind, nameOfWaiting, waitingBucket } from "./places.ts";
import type { EntryChange } from "./prepare.ts";
import { type Claims, comparedValues, type EntryRow, entryValue, type Reader } from "./reader.ts";
import type { ClaimRow } from "./row-change.ts";

/**
 * Services of one cluster that claim one address on each basis: a row, and what a query has to look at, are
 * bounded. Further ones wait until one of the others goes, each in a row of its own (`waitingBucket`).
 */
const MOST_NAMES = 32;
/** Names of which no label of a DNS name can be made have no claim, either. */
const NAME = /^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/;

/** A row as it becomes. */
interface Bucket {
  readonly claims: Claims;
  readonly isNew: boolean;
}

/** The addresses that a service had and has of a cluster on some basis, in hex. */
interface ClaimChange {
  readonly basis: Basis;
  readonly name: string;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

/** Addresses that come or go in one step: some 1 ms. */
const ADDRESSES_AT_ONCE = 64;

/** Services that wait for an address of which enough others have a claim. */
interface Queue {
  readonly hex: string;
  readonly added: { readonly name: string; readonly order: number }[];
  /** Names of those that no longer do. */
  readonly gone: Set<string>;
}

/**
 * Finds out what changes in the addresses that clusters report. What a cluster's rows become depends on
 * nothing that other clusters report.
 */
export class ClaimBuckets {
  readonly #reader: Reader;
  readonly #read: Statement;
  readonly #waiting: Statement;
  readonly #all: Statement;
  readonly #onDamage: (cluster: string, key: string) => never;

  constructor(database: Database, reader: Reader, onDamage: (cluster: string, key: string) => never) {
    this.#reader = reader;
    this.#read = database.prepare("SELECT bucket, text, sum FROM claim WHERE bucket = ? AND cluster = ?");
    this.#waiting = database.prepare(
      "SELECT bucket, text, sum FROM claim WHERE bucket > ? AND bucket < ? ORDER BY abs(text), bucket LIMIT ?",
    );
    this.#all = database.prepare("SELECT bucket, text, sum FROM claim WHERE cluster = ?");
    this.#onDamage = onDamage;
  }

  /**
   * The rows that a change makes of a cluster's claims, and how many more the cluster has then, in steps.
   * @param order see `Claim`, of addresses that it did not report before
   * @param given addresses that were given up by an earlier part of the same change, with their orders; it is
   * added to. An address that moves from one service to another of its namespace stays claimed
   */
  *changed(
    cluster: string,
    entries: readonly EntryChange[],
    order: number,
    given: Map<string, number>,
  ): Generator<void, { readonly rows: readonly ClaimRow[]; readonly more: number }> {
    const buckets = new Map<string, Bucket>();
    const open = (hex: string) => {
      const name = claimBucket(hex);
      const bucket = buckets.get(name) ?? this.#open(name, cluster);
      buckets.set(name, bucket);
      return bucket.claims;
    };
    const queues = new Map<string, Queue>();
    const queueOf = (place: string, hex: string) => {
      const queue = queues.get(place) ?? { hex, added: [], gone: new Set() };
      queues.set(place, queue);
      return queue;
    };
    let steps = 0;
    const removed: [hex: string, place: string, name: string][] = [];
    for (const { basis, name, before, after } of this.#changes(cluster, entries)) {
      for (const hex of after) {
        if (before.has(hex)) continue;
        const place = BASES[basis] + hex;
        const known = given.get(`${place} ${namespaceIn(name)}`) ?? order;
        const waits = add(open(hex), place, name, known);
        if (waits !== undefined) queueOf(place, hex).added.push({ name, order: waits });
        if (++steps % ADDRESSES_AT_ONCE === 0) yield;
      }
      for (const hex of before) if (!after.has(hex)) removed.push([hex, BASES[basis] + hex, name]);
    }
    for (const [hex, place, name] of removed) {
      const claims = open(hex);
      const queue = queues.has(place) || isFull(claims[place]) ? queueOf(place, hex) : undefined;
      if (claims[place]?.includes(name) !== true) queue?.gone.add(name);
      const held = remove(claims, place, name);
      if (held !== undefined) given.set(`${place} ${namespaceIn(name)}`, held);
      if (++steps % ADDRESSES_AT_ONCE === 0) yield;
    }
    let more = 0;
    const rows: ClaimRow[] = [];
    for (const [place, queue] of queues)
      for (const row of this.#advance(cluster, place, open(queue.hex), queue)) {
        more += row.text === "" ? -1 : 1;
        rows.push(row);
      }
    for (const [bucket, { claims, isNew }] of buckets) {
      const isGone = Object.keys(claims).length === 0;
      more += (isGone ? 0 : 1) - (isNew ? 0 : 1);
      rows.push({ bucket, text: isGone ? "" : JSON.stringify(claims) });
    }
    return { rows, more };
  }

  /** All rows of a cluster's claims. */
  *all(cluster: string): Generator<ClaimRow> {
    for (const row of this.#all.all(cluster)) yield this.#sound(cluster, row);
  }

  *#changes(cluster: string, entries: readonly EntryChange[]): Generator<ClaimChange> {
    const services = new Map<string, { exported?: EntryChange; imported?: EntryChange }>();
    for (const entry of entries) {
      const { kind, name } = (entry.before ?? entry.after)!;
      if (!NAME.test(name)) continue;
      if (kind === Kind.service) {
        const [before, after] = valuesOf<LocalService>(entry);
        yield { basis: "local", name, before: localAddresses(before), after: localAddresses(after) };
      } else if (kind === Kind.export) services.set(name, { ...services.get(name), exported: entry });
      else if (kind === Kind.import) services.set(name, { ...services.get(name), imported: entry });
    }
    const unchanged = (kind: Kind, name: string): EntryChange => {
      const row = this.#reader.entry(cluster, kind, name);
      return { before: row, after: row };
    };
    for (const [name, service] of services) {
      const exported = service.exported ?? unchanged(Kind.export, name);
      const exports = valuesOf<ExportedService>(exported);
      const [old, now] = [basesOf(exported.before, exports[0]), basesOf(exported.after, exports[1])];
      // What an import is the basis of depends on the export.
      const isSame = old.ofExport === now.ofExport && old.ofImport === now.ofImport;
      const imported = service.imported ?? (isSame ? undefined : unchanged(Kind.import, name));
      const imports = imported === undefined ? [undefined, undefined] : valuesOf<ImportedService>(imported);
      const before = claimsBy(exported.before, exports[0], imports[0]);
      const after = claimsBy(exported.after, exports[1], imports[1]);
      for (const basis of new Set([...before.keys(), ...after.keys()]))
        yield { basis, name, before: before.get(basis) ?? NONE, after: after.get(basis) ?? NONE };
    }
  }

  /** Gives those that have waited longest the claims that others gave up. @returns what rows become */
  *#advance(cluster: string, place: string, claims: Claims, { added, gone }: Queue): Generator<ClaimRow> {
    const room = MOST_NAMES - (claims[place] ?? []).filter(isName).length;
    const own = waitingBucket(cluster, place);
    // In ASCII "!" follows a space.
    const rows = room === 0 ? [] : this.#waiting.all(`${own} `, `${own}!`, room + gone.size);
    const kept = rows
      .map((row) => this.#sound(cluster, row))
      .map(({ bucket, text }) => ({ name: nameOfWaiting(bucket)!, order: Number(text), isKept: true }));
    const waiting = [
      ...kept.filter(({ name }) => !gone.has(name)),
      ...added.map((one) => ({ ...one, isKept: false })),
    ];
    waiting.sort((one, other) => Math.abs(one.order) - Math.abs(other.order));
    for (const [at, { name, order, isKept }] of waiting.entries()) {
      if (at < room) add(claims, place, name, order);
      if (isKept === at < room)
        yield { bucket: waitingBucket(cluster, place, name), text: isKept ? "" : String(order) };
    }
    for (const name of gone) {
      const bucket = waitingBucket(cluster, place, name);
      if (this.#read.get(bucket, cluster) !== undefined) yield { bucket, text: "" };
    }
  }

  #open(bucket: string, cluster: string): Bucket {
    const row = this.#read.get(bucket, cluster);
    if (row === undefined) return { claims: {}, isNew: true };
    return { claims: JSON.parse(this.#sound(cluster, row).text), isNew: false };
  }

  #sound(cluster: string, { bucket: name, text: json, sum }: Row): ClaimRow {
    const [bucket, text] = [String(name), String(json)];
    if (sum !== sumOf(bucket, cluster, text)) this.#onDamage(cluster, bucket);
    return { bucket, text };
  }
}

/** @returns undefined; where enough others have a claim, the order with which this one waits */
function add(claims: Claims, place: string, name: string, order: number): number | undefined {
  const own = claims[place];
  if (own === undefined) {
    claims[place] = [order, name];
    return undefined;
  }
  if (own.includes(name)) return undefined;
  const beside = own.findIndex((one) => isName(one) && namespaceIn(one) === namespaceIn(name));
  if (isFull(own))
    return beside < 0 ? order : own.slice(0, beside).findLast((one) => typeof one === "number");
  if (beside < 0) own.push(order, name);
  else own.splice(beside, 0, name);
  return undefined;
}

function isName(one: string | number): one is string {
  return typeof one === "string";
}

function isFull(own: Claims[string] = []): boolean {
  return own.filter(isName).length >= MOST_NAMES;
}

function remove(claims: Claims, place: string, name: string): number | undefined {
  const own = claims[place];
  const at = own?.indexOf(name) ?? -1;
  if (own === undefined || at < 0) return undefined;
  own.splice(at, 1);
  const order = own[at - 1];
  if (typeof order !== "number" || typeof own[at] === "string") return undefined;
  own.splice(at - 1, 1);
  if (own.length === 0) delete claims[place];
  return order;
}

function namespaceIn(name: string): string {
  return name.slice(0, name.indexOf("/"));
}

type Values<Value> = readonly [before: Value | undefined, after: Value | undefined];
type Service = ExportedService | LocalService;

const NONE: ReadonlySet<string> = new Set();

/**
 * The values of an entry before and after a change: of what tells the difference of its addresses, where that
 * is enough.
 */
function valuesOf<Value>({ before, after }: EntryChange): Values<Value> {
  const [old, now] = [before, after].map((row) =>
    row === undefined || row.texts[0] === "" ? undefined : row,
  );
  if (old !== undefined && now !== undefined && old.texts.length > 1 && old.kind !== Kind.import) {
    const some = comparedValues(old.kind, old.texts, now.texts) as [Service, Service];
    const [known, left] = some.map((value) => {
      const addresses = new Set<string>();
      addEndpoints(addresses, value);
      return addresses;
    });
    const gone = [...known!].filter((hex) => !left!.has(hex));
    // With a rank, or without, all addresses have another basis.
    const isRankedAlike = (old.counts === null) === (now.counts === null);
    if (isRankedAlike && isShownAlike(...some) && !mayHave(old.texts, now.texts, gone))
      return some as Values<unknown> as Values<Value>;
  }
  return [old && (entryValue(old) as Value), now && (entryValue(now) as Value)];
}

/**
 * Whether an address may be in a part that did not change. An IPv4 address has one spelling; parts but the
 * first one were written here.
 */
function mayHave(before: readonly string[], after: readonly string[], addresses: readonly string[]): boolean {
  const same = after.filter((text, part) => part > 0 && text === before[part]);
  return addresses.some((hex) => {
    if (hex.length !== 8) return true;
    const text = [0, 2, 4, 6].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(".");
    return same.some((part) => part.includes(`"${text}"`));
  });
}

function isShownAlike(one: Service, other: Service): boolean {
  return one.headless === other.headless && one.publishNotReadyAddresses === other.publishNotReadyAddresses;
}

/** What the addresses of an export, and of an import beside it, are the basis of. */
interface Bases {
  readonly ofExport: Basis;
  /** Of `ips`. Endpoints count where there is no export. */
  readonly ofImport: Basis;
}

/** @param row it has a rank exactly while its cluster has the namespace */
function basesOf(row: EntryRow | undefined, exported: ExportedService | undefined): Bases {
  if (row === undefined || exported === undefined) return { ofExport: "other", ofImport: "importIP" };
  if (row.counts === null) return { ofExport: "other", ofImport: "other" };
  return exported.headless
    ? { ofExport: "exportEndpoint", ofImport: "other" }
    : { ofExport: "other", ofImport: "exportIP" };
}

/**
 * The addresses that a cluster reports of a service, in hex, by the basis of the claims.
 * @param exportRow of the export, which may be reduced to what exists in a scope
 */
export function claimsBy(
  exportRow: EntryRow | undefined,
  exported: ExportedService | undefined,
  imported: ImportedService | undefined,
): Map<Basis, Set<string>> {
  const { ofExport, ofImport } = basesOf(exportRow, exported);
  const claims = new Map<Basis, Set<string>>();
  const by = (basis: Basis) => {
    const addresses = claims.get(basis) ?? new Set();
    claims.set(basis, addresses);
    return addresses;
  };
  if (exported !== undefined) addEndpoints(by(ofExport), exported);
  if (imported === undefined) return claims;
  // What the cluster's own worker made of the desired state is for its own view.
  addTexts(by(imported.managed === true ? "other" : ofImport), imported.ips);
  for (const groups of Object.values(imported.endpoints))
    addGroups(by(ofImport === "importIP" ? "importEndpoint" : "other"), groups, false);
  return claims;
}

/** The addresses for which a Service of a cluster's own zone may have reverse names, in hex. */
export function localAddresses(service: LocalService | undefined): Set<string> {
  const addresses = new Set<string>();
  if (service === undefined) return addresses;
  addTexts(addresses, service.clusterIPs ?? []);
  if (service.headless) addEndpoints(addresses, service);
  return addresses;
}

function addEndpoints(to: Set<string>, { endpoints, publishNotReadyAddresses }: Service): void {
  addGroups(to, endpoints, publishNotReadyAddresses === true);
}

/** @param groups of some parts of an entry they may lack members, or be missing */
function addGroups(to: Set<string>, groups: EndpointGroups | undefined, evenIfNotReady: boolean): void {
  for (const { members = {} } of Object.values(groups ?? {}))
    addTexts(
      to,
      Object.values(members).flatMap(({ address, ready }) =>
        ready !== false || evenIfNotReady ? address : [],
      ),
    );
}

function addTexts(to: Set<string>, texts: readonly string[]): void {
  for (const text of texts) {
    const bytes = usableAddress(text);
    if (bytes !== undefined) to.add(hexOf(bytes));
  }
}
