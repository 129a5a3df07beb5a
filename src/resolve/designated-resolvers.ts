import {
  type FoldedName,
  HEADER_BYTES,
  isAboveZone,
  parseName,
  parseZoneName,
  RecordType,
  ResponseCode,
  startOfZone,
} from "../dns/name.ts";
import { isLocalityView } from "../zone/world.ts";
import { SOA_TIMERS } from "../zone/zone-plan.ts";
import { beginAnswer, type MessageWriter, RECORD_HEADER_BYTES, type Transport } from "./message-writer.ts";
import type { Query } from "./query.ts";
import type { Answer } from "./record-writer.ts";

/** An endpoint of the designated resolver. */
export type DesignatedEndpoint =
  | { readonly protocol: "https"; readonly port: number }
  /** `view`: the cluster whose view all its clients have; undefined for outside. */
  | { readonly protocol: "dot"; readonly port: number; readonly view: string | undefined };

/** The encrypted resolver that clients of plain DNS can discover. */
export interface DesignatedResolver {
  /** Its name in text; its certificate has it. */
  readonly name: string;
  /** Its addresses of 4 or 16 bytes; empty if clients resolve the name elsewhere. */
  readonly addresses: readonly Uint8Array[];
  /** In the order of preference. */
  readonly endpoints: readonly DesignatedEndpoint[];
}

/** Has the designated resolver once its ports are known; undefined until then, or without a name. */
export interface Designation {
  readonly resolver: DesignatedResolver | undefined;
}

/** The context of an answer about designated resolvers. */
export interface DesignationContext {
  readonly designated?: DesignatedResolver | undefined;
  readonly transport?: Transport | undefined;
  readonly view?: string | undefined;
}

const DNS_LABEL = [4, 95, 100, 110, 115];
const RESOLVER_ARPA = parseZoneName("resolver.arpa");
/** The mailbox of a locally served zone (RFC 6303 section 3). */
const NOBODY = parseName("nobody.invalid");
/** In seconds. Certificates and listeners seldom change, but clients should notice a change soon. */
const TTL = 300;
const SOA_NUMBERS_BYTES = 20;
const POINTER_BYTES = 2;
const SERIAL = 1;
const DEFAULT_PORTS = { https: 443, dot: 853 } as const;

/**
 * Answers queries for designated resolvers; undefined for any other question. These are `_dns.<name>` of a
 * configured resolver (RFC 9462 section 5), and all names in resolver.arpa, which is served locally and never
 * forwarded (sections 4, 6.1, 6.4). Other names and types in resolver.arpa are NODATA; without a designated
 * resolver all of them are.
 */
export function answerDesignation(
  message: Uint8Array,
  query: Query,
  context: DesignationContext,
): Answer | undefined {
  const { transport } = context;
  const designated = transport?.isOfRule === true ? undefined : context.designated;
  const { name } = query;
  const zoneAt = startOfZone(name, RESOLVER_ARPA);
  const isService = startsWithDns(name);
  const isNamed = designated !== undefined && isService && zoneAt < 0 && isServiceOf(name, designated);
  if (zoneAt < 0 && !isNamed) return undefined;
  const writer = beginAnswer(message, query, { transport });
  if (query.type === RecordType.SVCB && designated !== undefined && isService && (isNamed || zoneAt === 5))
    return answerBindings(writer, query, designated, context.view);
  const isApex = zoneAt === 0 || isNamed;
  const apexAt = HEADER_BYTES + Math.max(0, zoneAt);
  const written = writeLocalSoa(writer, apexAt);
  if (isApex && query.type === RecordType.SOA) writer.answers = written;
  else writer.authorities = written;
  return end(writer, writer.answers > 0 ? "answer" : "nodata");
}

function answerBindings(
  writer: MessageWriter,
  query: Query,
  designated: DesignatedResolver,
  view: string | undefined,
): Answer {
  const target = parseName(designated.name);
  const cluster = view === undefined || isLocalityView(view) ? undefined : view;
  const bindings = bindingsFor(designated, target, cluster);
  const length = bindings.reduce((sum, binding) => sum + RECORD_HEADER_BYTES + binding.length, 0);
  if (!writer.hasRoom(length)) return end(writer, "answer");
  let targetAt = 0;
  for (const binding of bindings) {
    writer.writeRecordHeader(HEADER_BYTES, RecordType.SVCB, TTL, binding.length);
    targetAt = writer.position + 2;
    writer.writeBytes(binding, 0, binding.length);
    writer.answers++;
  }
  if (bindings.length > 0) writeTargetAddresses(writer, designated, targetAt);
  else
    writer.authorities = writeLocalSoa(
      writer,
      HEADER_BYTES + Math.max(0, startOfZone(query.name, RESOLVER_ARPA)),
    );
  return end(writer, bindings.length > 0 ? "answer" : "nodata");
}

/** Writes the addresses of the target (RFC 9462 section 4) that fit. */
function writeTargetAddresses(
  writer: MessageWriter,
  { addresses }: DesignatedResolver,
  targetAt: number,
): void {
  for (const address of addresses) {
    if (writer.position + RECORD_HEADER_BYTES + address.length > writer.limit) return;
    const type = address.length === 4 ? RecordType.A : RecordType.AAAA;
    writer.writeRecordHeader(targetAt, type, TTL, address.length);
    writer.writeBytes(address, 0, address.length);
    writer.additionals++;
  }
}

/**
 * The RDATA of SVCB records (RFC 9460 section 2.2): priority, target, then the parameters in the order of
 * their keys, without those that have no value. A client keeps the view of a cluster: only endpoints with the
 * same view are listed. A gateway gives its client a locality by itself.
 */
function bindingsFor(
  { addresses, endpoints }: DesignatedResolver,
  target: Uint8Array,
  cluster: string | undefined,
): Uint8Array[] {
  const path = cluster === undefined ? "/dns-query{?dns}" : `/clusters/${cluster}/dns-query{?dns}`;
  const usable = endpoints.filter((endpoint) => endpoint.protocol === "https" || endpoint.view === cluster);
  const hints = (bytes: number) =>
    addresses.flatMap((address) => (address.length === bytes ? [...address] : []));
  return usable.map(({ protocol, port }, index) => {
    const isHttps = protocol === "https";
    const all: readonly (readonly [key: number, value: readonly number[]])[] = [
      // The name of the protocol comes after its length (RFC 9460 section 7.1.1).
      [Key.ALPN, ascii(isHttps ? "\x02h2" : "\x03dot")],
      [Key.PORT, port === DEFAULT_PORTS[protocol] ? [] : word(port)],
      [Key.IPV4HINT, hints(4)],
      [Key.IPV6HINT, hints(16)],
      [Key.DOHPATH, isHttps ? ascii(path) : []],
    ];
    const parameters = all.flatMap(([key, value]) =>
      value.length === 0 ? [] : [...word(key), ...word(value.length), ...value],
    );
    return Uint8Array.from([...word(index + 1), ...target, ...parameters]);
  });
}

/**
 * The SOA record of a locally served zone (RFC 6303 section 3).
 * @returns the number of written records: 0 if it does not fit
 */
function writeLocalSoa(writer: MessageWriter, apexAt: number): 0 | 1 {
  const length = POINTER_BYTES + NOBODY.length + SOA_NUMBERS_BYTES;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + length)) return 0;
  writer.writeRecordHeader(apexAt, RecordType.SOA, TTL, length);
  writer.write16(0xc000 | apexAt);
  writer.writeBytes(NOBODY, 0, NOBODY.length);
  for (const value of [SERIAL, SOA_TIMERS.refresh, SOA_TIMERS.retry, SOA_TIMERS.expire, TTL])
    writer.write32(value);
  return 1;
}

function end(writer: MessageWriter, outcome: "answer" | "nodata"): Answer {
  const bytes = writer.finish(ResponseCode.NOERROR, true);
  return { bytes, outcome, freshness: writer.truncated ? 0 : TTL };
}

function startsWithDns({ bytes }: FoldedName): boolean {
  return DNS_LABEL.every((byte, index) => bytes[index] === byte);
}

function isServiceOf(name: FoldedName, designated: DesignatedResolver): boolean {
  return startOfZone(name, serviceOf(designated)) === 0;
}

/** Whether a name is an ancestor of `_dns.<name>` of a designated resolver. */
export function isAboveDesignation(name: FoldedName, designated: DesignatedResolver): boolean {
  return isAboveZone(name, serviceOf(designated));
}

function serviceOf({ name }: DesignatedResolver) {
  return parseZoneName(`_dns.${name}`);
}

/** SvcParamKeys (RFC 9460 section 14.3.2, RFC 9461 section 5). */
const Key = { ALPN: 1, PORT: 3, IPV4HINT: 4, IPV6HINT: 6, DOHPATH: 7 } as const;

function word(value: number): number[] {
  return [value >>> 8, value & 0xff];
}

function ascii(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
