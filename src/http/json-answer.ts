import { type DecodedPacket, decode, type Answer as Record_, type TxtData } from "dns-packet";
import { toType } from "dns-packet/types.js";
import { formatName } from "../dns/name.ts";

interface JsonRecord {
  readonly name: string;
  readonly type: number;
  readonly TTL: number;
  readonly data: string;
}

/** An answer in the JSON form that Google's and Cloudflare's resolvers share. */
export interface JsonAnswer {
  /** The response code (RFC 1035 section 4.1.1), extended by RFC 6891. */
  readonly Status: number;
  readonly TC: boolean;
  readonly RD: boolean;
  readonly RA: boolean;
  readonly AD: boolean;
  readonly CD: boolean;
  readonly Question: readonly { readonly name: string; readonly type: number }[];
  readonly Answer?: readonly JsonRecord[];
  readonly Authority?: readonly JsonRecord[];
  readonly Additional?: readonly JsonRecord[];
  readonly Comment: string;
}

const EXTENDED_ERROR_OPTION = 15;

/**
 * Renders an answer in wire format as JSON. `question` is the query it answers, with an uncompressed
 * name that starts at octet 12. `comment` is joined by the Extended DNS Errors (RFC 8914).
 */
export function renderJsonAnswer(question: Uint8Array, answer: Uint8Array, comment: string): JsonAnswer {
  const packet = decode(Buffer.from(answer.buffer, answer.byteOffset, answer.length));
  const answers = records(packet.answers);
  const authority = records(packet.authorities);
  const additional = records(packet.additionals);
  // The name comes from the wire: dns-packet's text cannot tell a dot within a label from one between two.
  const name = formatName(question, 12);
  const asked = packet.questions?.[0];
  return {
    Status: responseCode(packet, answer),
    TC: packet.flag_tc,
    RD: packet.flag_rd,
    RA: packet.flag_ra,
    AD: packet.flag_ad,
    CD: packet.flag_cd,
    Question: asked === undefined ? [] : [{ name, type: toType(asked.type) }],
    ...(answers.length > 0 && { Answer: answers }),
    ...(authority.length > 0 && { Authority: authority }),
    ...(additional.length > 0 && { Additional: additional }),
    Comment: [...extendedErrors(packet), comment].join("; "),
  };
}

function responseCode(packet: DecodedPacket, answer: Uint8Array): number {
  const opt = packet.additionals?.find((record) => record.type === "OPT");
  return (answer[3]! & 0x0f) | ((opt?.extendedRcode ?? 0) << 4);
}

function extendedErrors(packet: DecodedPacket): string[] {
  const errors: string[] = [];
  for (const record of packet.additionals ?? []) {
    if (record.type !== "OPT") continue;
    for (const option of record.options) {
      if (Number(option.code) !== EXTENDED_ERROR_OPTION || !option.data || option.data.length < 2) continue;
      const text = option.data.toString("utf8", 2);
      errors.push(`Extended DNS Error ${option.data.readUInt16BE(0)}${text === "" ? "" : `: ${text}`}`);
    }
  }
  return errors;
}

function records(section: readonly Record_[] | undefined): JsonRecord[] {
  const rendered: JsonRecord[] = [];
  for (const record of section ?? []) {
    if (record.type === "OPT") continue;
    rendered.push({
      name: dotted(record.name),
      type: toType(record.type),
      TTL: record.ttl ?? 0,
      data: presentation(record),
    });
  }
  return rendered;
}

function dotted(name: string): string {
  return name.endsWith(".") ? name : `${name}.`;
}

/** RDATA in the form of zone files (RFC 1035 section 5.1), types that are not served as RFC 3597 says. */
function presentation(record: Exclude<Record_, { type: "OPT" }>): string {
  switch (record.type) {
    case "A":
    case "AAAA":
      return record.data;
    case "NS":
    case "CNAME":
    case "PTR":
      return dotted(record.data);
    case "SRV":
      return `${record.data.priority} ${record.data.weight} ${record.data.port} ${dotted(record.data.target)}`;
    case "SOA": {
      const { mname, rname, serial, refresh, retry, expire, minimum } = record.data;
      return `${dotted(mname)} ${dotted(rname)} ${serial} ${refresh} ${retry} ${expire} ${minimum}`;
    }
    case "TXT":
      return strings(record.data).map(quoted).join(" ");
    case "HINFO":
      return `${quoted(Buffer.from(record.data.cpu))} ${quoted(Buffer.from(record.data.os))}`;
    default:
      return record.data instanceof Uint8Array
        ? `\\# ${record.data.length} ${Buffer.from(record.data).toString("hex")}`
        : JSON.stringify(record.data);
  }
}

function strings(data: TxtData): Uint8Array[] {
  return (Array.isArray(data) ? data : [data]).map((text) =>
    typeof text === "string" ? Buffer.from(text) : text,
  );
}

/** A character-string in quotes with RFC 1035's escapes; JSON.stringify later escapes the quotes again. */
function quoted(octets: Uint8Array): string {
  let text = "";
  for (const octet of octets) {
    if (octet === 0x22 || octet === 0x5c) text += `\\${String.fromCharCode(octet)}`;
    else if (octet < 0x20 || octet > 0x7e) text += `\\${String(octet).padStart(3, "0")}`;
    else text += String.fromCharCode(octet);
  }
  return `"${text}"`;
}
