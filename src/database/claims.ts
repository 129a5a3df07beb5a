import { usableAddress } from "../dns/address.ts";
import type { EndpointGroups, ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import type { Database, Statement } from "./driver.ts";
import { claimBucket, hexOf, IMPORT_CLAIM, Kind, LOCAL_CLAIM } from "./places.ts";
import { type Claims, type EntryRow, entryValue } from "./reader.ts";
import { sumOf } from "./sums.ts";

/** The order of claims that were lost with damaged rows: no gateway knows which cluster came first. */
export const LOST_ORDER = -1;
/** Services of one cluster that answers read for one address. Another one takes the place of one that goes. */
const MOST_READ = 8;
/** Names beyond those, which answers do not read. */
type More = Record<string, string[]>;

interface Bucket {
  readonly claims: Claims;
  readonly more: More;
}

/** Writes which addresses clusters report. */
export class ClaimWriter {
  readonly #read: Statement;
  readonly #put: Statement;
  readonly #cut: Statement;
  readonly #clear: Statement;
  readonly #onDamage: (cluster: string, key: string) => never;

  constructor(database: Database, onDamage: (cluster: string, key: string) => never) {
    this.#read = database.prepare("SELECT part, text, sum FROM claim WHERE bucket = ? AND cluster = ?");
    this.#put = database.prepare(
      "INSERT INTO claim (bucket, cluster, part, text, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (bucket, cluster, part) DO UPDATE SET text = excluded.text, sum = excluded.sum",
    );
    this.#cut = database.prepare("DELETE FROM claim WHERE bucket = ? AND cluster = ? AND part = ?");
    this.#clear = database.prepare("DELETE FROM claim WHERE cluster = ?");
    this.#onDamage = onDamage;
  }

  /** Takes over what a change makes of a cluster's claims. @param order that of addresses which it did not report before */
  change(cluster: string, changes: Iterable<ClaimChange>, order: number): void {
    const buckets = new Map<string, Bucket>();
    const open = (hex: string) => {
      const name = claimBucket(hex);
      const bucket = buckets.get(name) ?? this.#open(name, cluster);
      buckets.set(name, bucket);
      return bucket;
    };
    // An address that moves from one service to another stays claimed.
    const removed: [hex: string, name: string][] = [];
    for (const { name, before, after } of changes) {
      for (const hex of after) if (!before.has(hex)) add(open(hex), hex, name, order);
      for (const hex of before) if (!after.has(hex)) removed.push([hex, name]);
    }
    for (const [hex, name] of removed) remove(open(hex), hex, name);
    for (const [name, { claims, more }] of buckets) {
      this.#write(name, cluster, 0, claims);
      this.#write(name, cluster, 1, more);
    }
  }

  /** Removes all claims of a cluster. */
  clear(cluster: string): void {
    this.#clear.run(cluster);
  }

  #open(bucket: string, cluster: string): Bucket {
    const found: Bucket = { claims: {}, more: {} };
    for (const { part, text, sum } of this.#read.all(bucket, cluster)) {
      if (sum !== sumOf(bucket, cluster, String(part), String(text))) this.#onDamage(cluster, bucket);
      Object.assign(part === 0 ? found.claims : found.more, JSON.parse(String(text)));
    }
    return found;
  }

  #write(bucket: string, cluster: string, part: number, value: Claims | More): void {
    if (Object.keys(value).length === 0) {
      this.#cut.run(bucket, cluster, part);
      return;
    }
    const text = JSON.stringify(value);
    this.#put.run(bucket, cluster, part, text, sumOf(bucket, cluster, String(part), text));
  }
}

function add({ claims, more }: Bucket, hex: string, name: string, order: number): void {
  const own = claims[hex];
  if (own === undefined) claims[hex] = [order, name];
  else if (own.length <= MOST_READ) own.push(name);
  else more[hex] = [...(more[hex] ?? []), name];
}

function remove({ claims, more }: Bucket, hex: string, name: string): void {
  const own = claims[hex];
  const others = more[hex] ?? [];
  const at = own?.indexOf(name, 1) ?? -1;
  if (own !== undefined && at > 0) {
    own.splice(at, 1);
    const next = others.shift();
    if (next !== undefined) own.push(next);
    if (own.length === 1) delete claims[hex];
  } else if (others.includes(name)) others.splice(others.indexOf(name), 1);
  if (others.length === 0) delete more[hex];
  else more[hex] = others;
}

/** The addresses that a service had and has of a cluster, in hex. */
export interface ClaimChange {
  readonly name: string;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

/** In front of the names of services for which entries report addresses, by kind. */
const PREFIXES: ReadonlyMap<Kind, string> = new Map([
  [Kind.export, ""],
  [Kind.import, IMPORT_CLAIM],
  [Kind.service, LOCAL_CLAIM],
]);

/** An entry as it was and as it is. */
interface Changed {
  readonly before: EntryRow | undefined;
  readonly after: EntryRow | undefined;
}

/** What changes in the claims of a cluster. @param entries all that change */
export function* claimChanges(entries: readonly Changed[]): Generator<ClaimChange> {
  for (const { before, after } of entries) {
    const { kind, name } = (before ?? after)!;
    const prefix = PREFIXES.get(kind);
    if (prefix === undefined) continue;
    yield { name: prefix + name, before: addressesOf(kind, before), after: addressesOf(kind, after) };
  }
}

/** The addresses of an entry, in hex; none for one that is gone. */
function addressesOf(kind: Kind, row: EntryRow | undefined): Set<string> {
  if (row === undefined || row.texts[0] === "") return new Set();
  return claimedAddresses(kind, entryValue(row) as ClaimingEntry);
}

/** An entry that may claim addresses. */
type ClaimingEntry = ExportedService | ImportedService | LocalService;

/**
 * The addresses for which an entry may have reverse names, in hex: whether it has, other clusters decide, too, such as the type of the service.
 */
export function claimedAddresses(kind: Kind, value: ClaimingEntry): Set<string> {
  const addresses = new Set<string>();
  if (kind === Kind.import) {
    const { ips, endpoints } = value as ImportedService;
    for (const text of ips) addText(addresses, text);
    for (const groups of Object.values(endpoints)) addEndpoints(addresses, groups, false);
  } else {
    const service = value as ExportedService | LocalService;
    if (kind === Kind.service) for (const text of service.clusterIPs ?? []) addText(addresses, text);
    if (kind === Kind.export || service.headless)
      addEndpoints(addresses, service.endpoints, service.publishNotReadyAddresses === true);
  }
  return addresses;
}

function addEndpoints(to: Set<string>, groups: EndpointGroups, evenIfNotReady: boolean): void {
  for (const { members } of Object.values(groups))
    for (const { address, ready } of Object.values(members))
      if (ready !== false || evenIfNotReady) addText(to, address);
}

function addText(to: Set<string>, text: string): void {
  const bytes = usableAddress(text);
  if (bytes !== undefined) to.add(hexOf(bytes));
}
