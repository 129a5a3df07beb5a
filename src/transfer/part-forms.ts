import * as z from "zod";
import { hexOf } from "../database/places.ts";
import type { LogRow } from "../database/reader.ts";
import type { CompiledUnit } from "../names/compile-key.ts";
import { CompiledKey } from "../names/compiled-key.ts";
import type { DatabaseEntries } from "../names/database-entries.ts";
import { type AddressClaim, CLAIM_BASES } from "../names/entries.ts";
import type { Mark } from "../names/key-changes.ts";
import { ServiceListing } from "../names/service-listing.ts";
import { ClusterId, ClusterZone } from "../snapshot/schema.ts";
import type { CandidateSource, ReverseCandidate } from "../zone/kinds/tree-scope.ts";
import type { ZoneCluster, ZoneOptions } from "../zone/zone-plan.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const Position = z.int().min(0);
const Text = z.string().max(255);
const Label = z.string().min(1).max(63);
/** Labels of a name (RFC 1035 section 3.1). */
const MOST_LABELS = 127;
/** The time to live of a record in seconds (RFC 2181 section 8). */
const Ttl = z.int().min(0).max(0x7fffffff);

/** What names of a scope depend on beside keys. */
export interface SentWorld {
  readonly options: Omit<ZoneOptions, "serial">;
  /** The live ones. */
  readonly clusters: readonly ZoneCluster[];
  /** Those whose lease expired. */
  readonly lapsed: readonly string[];
}

const WorldForm: z.ZodType<SentWorld> = z.object({
  options: z.object({
    zones: z.array(Text).min(1),
    ttl: Ttl,
    negativeTtl: Ttl,
    federations: z.array(z.object({ name: Text, zone: Text.optional(), domain: Text.optional() })),
    localities: z.array(z.object({ region: Text, zone: Text.optional() })),
    nameServerAddresses: z.array(Text),
    hosts: z.array(z.object({ name: Text, addresses: z.array(Text) })),
  }),
  clusters: z.array(
    z.object({
      clusterId: ClusterId,
      region: Text.optional(),
      zones: z.array(Text),
      zone: ClusterZone.optional(),
    } satisfies Record<keyof ZoneCluster, z.ZodType>),
  ),
  lapsed: z.array(ClusterId),
});

/**
 * Names in order; `common` says that there are more of them, which all begin so. `clusters` have the
 * namespace that they are of.
 */
const ListForm = z.object({
  at: Position,
  names: z.array(Text),
  common: Text.optional(),
  clusters: z.array(ClusterId).optional(),
});
export type NameList = Omit<z.infer<typeof ListForm>, "at">;

/**
 * By address in hex: cluster, `<namespace>/<name>`, basis, order. Where any service of some namespaces
 * changes, there may be others.
 */
const ClaimsForm = z.object({
  at: Position,
  claims: z.record(z.string(), z.array(z.tuple([ClusterId, Text, z.enum(CLAIM_BASES), z.number()]))),
  namespaces: z.array(Label),
});
export type SentBucket = Omit<z.infer<typeof ClaimsForm>, "at">;

const BelowForm = z.object({ at: Position, has: z.boolean() });

const ReverseForm = z.object({
  at: Position,
  clusters: z.array(ClusterId),
  hasAudiences: z.boolean(),
  sources: z.array(
    z.object({
      namespace: Text,
      name: Text,
      tree: Text,
      view: Text.optional(),
      rank: z.union([z.literal(0), z.literal(1), z.literal(2)]),
      /** As text, since JSON has no Infinity. */
      since: z
        .string()
        .transform(Number)
        .refine((since) => !Number.isNaN(since)),
      ttl: Ttl,
      clusters: z.array(ClusterId),
      above: z.array(Label).max(MOST_LABELS),
      claimants: z.array(ClusterId),
    }),
  ),
  addresses: z.array(
    z.tuple([z.string().regex(/^([0-9a-f]{8}|[0-9a-f]{32})$/), z.int().min(0), Label.nullable()]),
  ),
});

const ServicesForm = z.object({ total: z.int().min(0), services: z.array(ServiceListing) });
/** A part of the list of services, and how many there are. */
export type SentServices = z.infer<typeof ServicesForm>;

/** A change as it is sent: the generation alone where it does not concern the scope. */
const ChangeForm = z.union([
  z.tuple([z.int().min(0)]),
  z.tuple([z.int().min(0), Text, Text, z.array(z.string().max(600)).nullable()]),
]);
export const ChangesForm = z.array(ChangeForm);
export type SentChange = z.infer<typeof ChangeForm>;

/** A part as readers keep it. `at` is the position as of which it is right, at least. */
export interface Loaded<Value> {
  readonly at: number;
  readonly value: Value;
}
/** The names of a key, and the clusters that have a part in it. */
export type LoadedKey = Pick<CompiledUnit, "key" | "clusters">;
/** The PTR records that the addresses of a key want. */
export interface LoadedReverse extends Pick<CompiledUnit, "hasAudiences" | "clusters"> {
  readonly sources: readonly CandidateSource[];
  /**
   * As text, since an object for each address takes 17 times the memory: each address on a line, as JSON,
   * between line feeds.
   */
  readonly addresses: string;
}

export function writeJson(value: unknown): Bytes {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Bytes of a head's length. */
const HEAD = 4;

/**
 * A key: the length of a head u32 (little-endian), the head (JSON, with spaces to a multiple of 4), and the
 * key's bytes, if it has names.
 */
export function writeKey(at: number, { key, clusters }: LoadedKey): Bytes {
  const json = JSON.stringify({ at, clusters });
  const head = new TextEncoder().encode(json + " ".repeat((4 - (json.length % 4)) % 4));
  const bytes = new Uint8Array(HEAD + head.length + (key?.bytes.length ?? 0));
  new DataView(bytes.buffer).setUint32(0, head.length, true);
  bytes.set(head, HEAD);
  if (key !== undefined) bytes.set(key.bytes, HEAD + head.length);
  return bytes;
}

const KeyHead = z.object({ at: Position, clusters: z.array(ClusterId) });

/** @throws {Error} for bytes that are not a well-formed key */
export function readKey(bytes: Bytes): Loaded<LoadedKey> {
  if (bytes.length < HEAD) throw new Error("a key has no head");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (length % 4 !== 0 || length > bytes.length - HEAD) throw new Error("the head of a key is not in it");
  const { at, clusters } = readJson(KeyHead, bytes.subarray(HEAD, HEAD + length));
  const key = HEAD + length === bytes.length ? undefined : CompiledKey.load(bytes.subarray(HEAD + length));
  return { at, value: { key, clusters } };
}

export function writeReverse(
  at: number,
  { reverse, hasAudiences, clusters }: Pick<CompiledUnit, "reverse" | "hasAudiences" | "clusters">,
): Bytes {
  const sources = new Map<CandidateSource, number>();
  const addresses = reverse.map(([bytes, { source, label }]) => {
    if (!sources.has(source)) sources.set(source, sources.size);
    return [hexOf(bytes), sources.get(source), label ?? null];
  });
  const texts = Array.from(sources.keys(), (source) => ({ ...source, since: String(source.since) }));
  return writeJson({ at, clusters, hasAudiences, sources: texts, addresses });
}

/** @throws {Error} for bytes that are not well-formed */
export function readReverse(bytes: Bytes): Loaded<LoadedReverse> {
  const { at, clusters, hasAudiences, sources, addresses } = readJson(ReverseForm, bytes);
  const all = sources.map((source): CandidateSource => ({ ...source, view: source.view }));
  if (addresses.some(([, index]) => index >= all.length)) throw new Error("an address has an unknown source");
  const lines = addresses.map((one) => `${JSON.stringify(one)}\n`).join("");
  return { at, value: { sources: all, addresses: `\n${lines}`, hasAudiences, clusters } };
}

/** What is wanted for an address. */
export function candidatesIn({ sources, addresses }: LoadedReverse, address: Uint8Array): ReverseCandidate[] {
  const found: ReverseCandidate[] = [];
  const line = `\n["${hexOf(address)}",`;
  for (let at = addresses.indexOf(line); at >= 0; at = addresses.indexOf(line, at + 1)) {
    const [, index, label] = JSON.parse(addresses.slice(at, addresses.indexOf("\n", at + 1)));
    found.push({ source: sources[index]!, label: label ?? undefined });
  }
  return found;
}

/** @throws {Error} for bytes that are not well-formed */
export function readList(bytes: Bytes) {
  const { at, names, common, clusters = [] } = readJson(ListForm, bytes);
  return { at, value: { names: new Set(names), common, clusters: new Set(clusters) } };
}

/** Claims by address in hex, as text: see `claimsIn`. @throws {Error} for bytes that are not well-formed */
export function readClaims(bytes: Bytes) {
  const { at, claims, namespaces } = readJson(ClaimsForm, bytes);
  const clusters = new Set(Object.values(claims).flatMap((all) => all.map(([clusterId]) => clusterId)));
  const byAddress = new Map(Object.entries(claims).map(([hex, all]) => [hex, JSON.stringify(all)]));
  return { at, value: { claims: byAddress, clusters, namespaces } };
}

/** The claims on an address. @param text as `readClaims` has it */
export function claimsIn(text: string): AddressClaim[] {
  const claims: SentBucket["claims"][string] = JSON.parse(text);
  return claims.map(([clusterId, key, basis, order]) => ({ clusterId, key, basis, order }));
}

/** @throws {Error} for bytes that are not well-formed */
export function readBelow(bytes: Bytes): Loaded<{ readonly has: boolean }> {
  const { at, has } = readJson(BelowForm, bytes);
  return { at, value: { has } };
}

/** @throws {Error} for bytes that are not well-formed */
export function readServices(bytes: Bytes): SentServices {
  return readJson(ServicesForm, bytes);
}

export function sentWorld(
  { serial: _, ...options }: ZoneOptions,
  entries: Pick<DatabaseEntries, "clusters" | "lapsedClusters">,
): SentWorld {
  return { options, clusters: entries.clusters(), lapsed: entries.lapsedClusters() };
}

/** @throws {Error} for bytes that are not well-formed */
export function readWorld(bytes: Bytes): SentWorld {
  return readJson(WorldForm, bytes);
}

export function writeChange({ generation, cluster, kind, keys }: LogRow): SentChange {
  return [generation, cluster, kind, keys === undefined ? null : [...keys]];
}

/** @throws {Error} for bytes that are not well-formed */
export function readChanges(bytes: Bytes): readonly SentChange[] {
  return readJson(ChangesForm, bytes);
}

/** Changes after a mark, as the log has them. */
export function changesAfter({ position }: Mark, sent: readonly SentChange[]): LogRow[] {
  return sent.map(([generation, cluster = "", kind = "", keys = []], index) => ({
    position: position + index + 1,
    generation,
    cluster,
    kind: kind === "" ? "changes" : kind,
    keys: keys ?? undefined,
  }));
}

function readJson<Form>(form: z.ZodType<Form>, bytes: Uint8Array): Form {
  const parsed = form.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new Error(`a part cannot be read: ${path.join(".") || "all of it"}: ${message}`);
}

/** What a primary has beside its state (docs/reference/transfer.md). */
export type PartKind = "world" | "changes" | "key" | "reverse" | "names" | "below" | "claims" | "services";

/**
 * What a list of names is of: namespaces; labels of keys in a namespace; pods in a row of a cluster; buckets
 * of claims.
 */
export type ListKind = "namespaces" | "labels" | "pods" | "buckets";

/** A part, by its kind and what it is of. */
export interface PartName {
  readonly kind: PartKind;
  /** In the order in which a reader writes them. */
  readonly of: Readonly<Record<string, string>>;
}

/**
 * The path of a part. It never has other bytes than those that are right for a state that has this version of
 * it.
 * @param version `markText`, or the hash of a world
 */
export function partPath({ kind, of }: PartName, version: string, epoch: string, scope: string): string {
  const query = new URLSearchParams({ ...of, v: version, epoch });
  if (scope !== "") query.set("scope", scope);
  return `${kind}?${query}`;
}

/** A mark in a path. */
export function markText({ position, generation }: Mark): string {
  return `${position}-${generation}`;
}

/** Undefined for text that is no mark. */
export function readMark(text: string | undefined): Mark | undefined {
  const [, position, generation] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? [];
  return position === undefined ? undefined : { position: Number(position), generation: Number(generation) };
}
