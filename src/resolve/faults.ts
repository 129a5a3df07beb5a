import { ExtendedError, HEADER_BYTES, HeaderFlag, ResponseCode } from "../dns/codes.ts";
import { read16 } from "../zone/record-block.ts";
import type { Answer, Outcome } from "./answer.ts";
import { answerDesignation, type DesignationContext } from "./designated-resolvers.ts";
import { type AnswerForm, writer } from "./message-writer.ts";
import { isQuery, type Query, readQuery } from "./query.ts";

/** Answers a well-formed query without records: a refusal, or a failure; nobody may cache it. */
export function answerWith(
  message: Uint8Array,
  query: Query,
  rcode: number,
  outcome: Outcome,
  extendedError = -1,
  form: AnswerForm = {},
): Answer {
  writer.begin(message, query, form);
  writer.writeOpt(query, rcode, extendedError);
  return { bytes: writer.finish(query, rcode, false), outcome, freshness: 0 };
}

/**
 * Answers a name that is in no zone.
 * @param isAncestor whether names below it are answered: then it exists, and denying it would deny them too (RFC 8020 section 2)
 */
export function answerOutOfZone(
  message: Uint8Array,
  query: Query,
  policy: "refuse" | "nxdomain",
  isAncestor: boolean,
  form: AnswerForm = {},
): Answer {
  const why = ExtendedError.NOT_AUTHORITATIVE;
  if (policy === "refuse") return answerWith(message, query, ResponseCode.REFUSED, "refused", why, form);
  return isAncestor
    ? answerWith(message, query, ResponseCode.NOERROR, "nodata", why, form)
    : answerWith(message, query, ResponseCode.NXDOMAIN, "nxdomain", why, form);
}

/** Answers a message that cannot be read as a query: its header alone, with the reason (RFC 1035 section 4.1.1). */
export function answerFault(message: Uint8Array, rcode: number): Answer {
  const bytes = new Uint8Array(HEADER_BYTES);
  bytes[0] = message[0]!;
  bytes[1] = message[1]!;
  const flags = HeaderFlag.QR | (read16(message, 2) & (0x7800 | HeaderFlag.RD | HeaderFlag.CD)) | rcode;
  bytes[2] = flags >>> 8;
  bytes[3] = flags;
  return { bytes, outcome: rcode === ResponseCode.NOTIMP ? "notimp" : "formerr", freshness: 0 };
}

/**
 * Answers while no snapshot is loaded: SERVFAIL with an Extended DNS Error (RFC 8914, Not Ready), because
 * NXDOMAIN would say that the names do not exist. Undefined for octets that are no DNS query.
 */
export function notReady(message: Uint8Array, asker: DesignationContext = {}): Answer | undefined {
  if (!isQuery(message)) return undefined;
  const query = readQuery(message);
  if ("code" in query) return answerFault(message, query.code);
  const { transport } = asker;
  const designation = answerDesignation(message, query, asker);
  if (designation !== undefined) return designation;
  const answer = answerWith(message, query, ResponseCode.SERVFAIL, "servfail", ExtendedError.NOT_READY, {
    transport,
  });
  return { ...answer, beyond: "unknown" };
}
