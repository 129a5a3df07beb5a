import dnsPacket from "dns-packet";
import type { KeyWorld } from "../../src/names/key-world.ts";
import { type Leases, LeaseTables } from "../../src/resolve/record-writer.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../src/zone/zone-plan.ts";
import { optRecord } from "../dns/opt-record.ts";
import { worldOf } from "../names/world-of.ts";

/** A record of an answer in text: `<name> <ttl> <type> <data>`. */
export interface Decoded {
  readonly rcode: string;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  readonly additional: readonly string[];
}

/** The clusterset of these snapshots, compiled and ready for queries. */
export function compileWorld(
  snapshots: readonly ClusterSnapshot[],
  options: Partial<ZoneOptions> = {},
  context: Partial<ResolveContext & { readonly world: KeyWorld }> = {},
): ResolveContext & { readonly world: KeyWorld } {
  return {
    world: worldOf(snapshots, options),
    leases: leasesUntil(() => Number.POSITIVE_INFINITY),
    now: 0,
    rotation: 0,
    view: undefined,
    outside: "refuse",
    ...context,
  };
}

/** Leases that expire at a time, in Unix milliseconds; undefined for clusters that are not held. */
export function leasesUntil(expiresAt: (clusterId: string) => number | undefined): Leases {
  return new LeaseTables(expiresAt);
}

/** A query in wire format; `edns` adds an OPT record. */
export function encodeQuery(name: string, type: string, edns = true, id = 0): Uint8Array {
  return new Uint8Array(
    dnsPacket.encode({
      type: "query",
      id,
      flags: dnsPacket.RECURSION_DESIRED,
      questions: [{ name, type: type as dnsPacket.RecordType }],
      additionals: edns ? [optRecord()] : [],
    }),
  );
}

/** Sends a query and decodes the answer. */
export function ask(context: ResolveContext, name: string, type: string, edns = true): Decoded {
  const answer = resolve(encodeQuery(name, type, edns), context);
  if (answer === undefined) throw new Error("no answer");
  return decode(answer.bytes);
}

/** Decodes an answer by dns-packet, the oracle of these tests. */
export function decode(bytes: Uint8Array): Decoded {
  const message = dnsPacket.decode(Buffer.from(bytes)) as dnsPacket.DecodedPacket & {
    rcode: string;
    flag_aa: boolean;
    flag_tc: boolean;
  };
  const show = (records: readonly dnsPacket.Answer[] | undefined) =>
    (records ?? []).filter(({ type }) => type !== "OPT").map(showRecord);
  return {
    rcode: message.rcode,
    authoritative: message.flag_aa,
    truncated: message.flag_tc,
    answer: show(message.answers),
    authority: show(message.authorities),
    additional: show(message.additionals),
  };
}

function showRecord(record: dnsPacket.Answer): string {
  if (record.type === "OPT") return "OPT";
  return `${record.name} ${record.ttl ?? ""} ${record.type} ${showData(record)}`;
}

function showData(record: Exclude<dnsPacket.Answer, { type: "OPT" }>): string {
  switch (record.type) {
    case "SRV": {
      const { priority, weight, port, target } = record.data;
      return `${priority} ${weight} ${port} ${target}`;
    }
    case "SOA": {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      return `${mname} ${rname} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
    }
    case "TXT":
      return [record.data]
        .flat()
        .map((text) => JSON.stringify(text.toString()))
        .join(" ");
    case "HINFO":
      return `${record.data.cpu} ${record.data.os}`;
    default:
      return String(record.data);
  }
}
