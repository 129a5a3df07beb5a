import {
  CLASS_IN,
  EdnsOption,
  ExtendedError,
  HEADER_BYTES,
  HeaderFlag,
  RecordType,
  ResponseCode,
} from "../dns/name.ts";
import type { Names } from "../zone/world.ts";
import { ANNOUNCED_PAYLOAD_BYTES, type Edns, type Query } from "./query.ts";

/**
 * The longest answer with addresses for a client without an OPT record. curl is such a client: it
 * reads 3,000 bytes with its own terminator and rejects longer answers. Further addresses are left out, which
 * KEP-1645 (DNS) allows: "the entire set or the subset of ready pod IPs, depending on … endpoint count".
 */
const PLAIN_CLIENT_BYTES = 2999;

/** The longest DNS message in bytes, as in `application/dns-message` (RFC 8484 section 6). */
export const MAX_MESSAGE_BYTES = 65535;

/** DNS over HTTPS (RFC 8484). */
export const HTTPS: Transport = {
  name: "https",
  longestAnswer: MAX_MESSAGE_BYTES,
  longestPlainAnswer: PLAIN_CLIENT_BYTES,
  isDatagram: false,
  isEncrypted: true,
  keepaliveTimeout: undefined,
};

/** Bytes of a record before its data if the owner is a compression pointer. */
export const RECORD_HEADER_BYTES = 12;

const OPCODE = 0x7800;
const OPT_BYTES = 11;
const KEEPALIVE_BYTES = 6;
/** Bytes of an Extended DNS Error without text. */
const EXTENDED_ERROR_BYTES = 6;

/** The properties of an answer besides its records. */
export interface AnswerForm {
  /** Its transport. Default: HTTPS. */
  readonly transport?: Transport | undefined;
  /**
   * Whether it is marked as stale: newer data may exist but could not be loaded (RFC 8914 section 4.4).
   * Default: false.
   */
  readonly stale?: boolean | undefined;
}

/**
 * The parts of a query that its answer needs. A malformed query has a header and no question (RFC 1035
 * section 4.1.1).
 */
type Answerable = Pick<Query, "id" | "flags" | "questionEnd" | "edns">;

const PLAIN: AnswerForm = {};

/** Writes answers, one after the other, into the same bytes. */
export class MessageWriter {
  readonly #words = new Uint32Array(Math.ceil(MAX_MESSAGE_BYTES / 4));
  readonly bytes = new Uint8Array(this.#words.buffer, 0, MAX_MESSAGE_BYTES);
  /** The query that is answered. */
  query: Answerable = { id: 0, flags: 0, questionEnd: HEADER_BYTES, edns: undefined };
  position = 0;
  transport = HTTPS;
  /** Bytes for records; the rest of the message is reserved for the OPT record. */
  limit = 0;
  /** Bytes for address records. */
  addressLimit = 0;
  answers = 0;
  authorities = 0;
  additionals = 0;
  truncated = false;
  /** The smallest TTL written to the answer section; for a stale answer at most its freshness. */
  smallestTtl = 0xffffffff;
  #stale = false;

  /** Starts an answer: header space, and the question with its letters' case (RFC 4343). */
  begin(
    message: Uint8Array,
    query: Answerable,
    { transport = HTTPS, stale = false }: AnswerForm = PLAIN,
  ): void {
    const { bytes } = this;
    const { edns, questionEnd } = query;
    this.query = query;
    for (let index = HEADER_BYTES; index < questionEnd; index++) bytes[index] = message[index]!;
    this.position = questionEnd;
    this.transport = transport;
    let limit = longestAnswerFor(transport, edns);
    if (edns !== undefined) {
      limit -= OPT_BYTES;
      if (edns.keepalive && transport.keepaliveTimeout !== undefined) limit -= KEEPALIVE_BYTES;
      if (stale) limit -= EXTENDED_ERROR_BYTES;
    }
    this.limit = limit;
    this.addressLimit = edns === undefined ? Math.min(limit, transport.longestPlainAnswer) : limit;
    this.answers = 0;
    this.authorities = 0;
    this.additionals = 0;
    this.truncated = false;
    this.smallestTtl = stale ? STALE_FRESHNESS_SECONDS : 0xffffffff;
    this.#stale = stale;
  }

  /** Whether so many bytes fit; if not, the answer is marked as truncated. */
  hasRoom(bytes: number): boolean {
    if (this.position + bytes <= this.limit) return true;
    this.truncated = true;
    return false;
  }

  write16(value: number): void {
    setWord(this.bytes, this.position, value);
    this.position += 2;
  }

  write32(value: number): void {
    setWord(this.bytes, this.position, value >>> 16);
    setWord(this.bytes, this.position + 2, value);
    this.position += 4;
  }

  writeBytes(from: Uint8Array, start: number, end: number): void {
    const { bytes } = this;
    let { position } = this;
    for (let index = start; index < end; index++) bytes[position++] = from[index]!;
    this.position = position;
  }

  /** Writes a node's name relative to its zone. @param length its `nameBytes` */
  copyName(names: Names, node: number, length: number): void {
    names.copyName(node, this.bytes, this.position);
    this.position += length;
  }

  /** Writes owner (as a compression pointer), type, class IN, TTL and RDLENGTH. */
  writeRecordHeader(owner: number, type: number, ttl: number, dataBytes: number): void {
    const { bytes, position } = this;
    setWord(bytes, position, 0xc000 | owner);
    setWord(bytes, position + 2, type);
    setWord(bytes, position + 4, CLASS_IN);
    setWord(bytes, position + 6, ttl >>> 16);
    setWord(bytes, position + 8, ttl);
    setWord(bytes, position + 10, dataBytes);
    this.position = position + RECORD_HEADER_BYTES;
  }

  /** Writes the OPT record (RFC 6891 section 6.1) with its options, padding last (RFC 7830). */
  #writeOpt(edns: Edns, rcode: number, extendedError: number): void {
    const { transport } = this;
    this.bytes[this.position++] = 0;
    this.write16(RecordType.OPT);
    this.write16(ANNOUNCED_PAYLOAD_BYTES);
    this.bytes[this.position++] = rcode >> 4;
    this.bytes[this.position++] = 0;
    this.write16(edns.dnssecOk ? 0x8000 : 0);
    const lengthAt = this.position;
    this.position += 2;
    if (extendedError >= 0) this.#writeExtendedError(extendedError);
    if (this.#stale)
      this.#writeExtendedError(
        rcode === ResponseCode.NXDOMAIN ? ExtendedError.STALE_NXDOMAIN : ExtendedError.STALE_ANSWER,
      );
    if (edns.keepalive && transport.keepaliveTimeout !== undefined) {
      this.write16(EdnsOption.TCP_KEEPALIVE);
      this.write16(2);
      this.write16(transport.keepaliveTimeout);
    }
    if (edns.padding && transport.isEncrypted) {
      const unpadded = this.position + 4;
      const whole = Math.ceil(unpadded / PADDING_BLOCK_BYTES) * PADDING_BLOCK_BYTES;
      const zeros = Math.min(whole, transport.longestAnswer) - unpadded;
      if (zeros >= 0) {
        this.write16(EdnsOption.PADDING);
        this.write16(zeros);
        this.bytes.fill(0, this.position, this.position + zeros);
        this.position += zeros;
      }
    }
    const length = this.position - lengthAt - 2;
    this.bytes[lengthAt] = length >>> 8;
    this.bytes[lengthAt + 1] = length;
    this.additionals++;
  }

  /** Writes an Extended DNS Error (RFC 8914 section 2) without text. */
  #writeExtendedError(code: number): void {
    this.write16(EdnsOption.EXTENDED_ERROR);
    this.write16(2);
    this.write16(code);
  }

  /**
   * Writes the OPT record, if the query has one, and the header, and returns a copy of the finished message.
   * @param extendedError the code of an Extended DNS Error (RFC 8914); -1 for none
   */
  finish(rcode: number, authoritative: boolean, extendedError = -1): Uint8Array<ArrayBuffer> {
    const { id, flags: requested, questionEnd, edns } = this.query;
    if (edns !== undefined) this.#writeOpt(edns, rcode, extendedError);
    const copied = requested & (OPCODE | HeaderFlag.RD | HeaderFlag.CD);
    const flags =
      HeaderFlag.QR |
      copied |
      (authoritative ? HeaderFlag.AA : 0) |
      (this.truncated ? HeaderFlag.TC : 0) |
      (rcode & 0x0f);
    const { bytes } = this;
    setWord(bytes, 0, id);
    setWord(bytes, 2, flags);
    setWord(bytes, 4, questionEnd > HEADER_BYTES ? 1 : 0);
    setWord(bytes, 6, this.answers);
    setWord(bytes, 8, this.authorities);
    setWord(bytes, 10, this.additionals);
    return copyOut(this.#words, this.position);
  }
}

function setWord(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

/**
 * Answers up to this size are cut from a slab: an ArrayBuffer for each would cost more than the rest of the
 * answer.
 */
const SLAB_ANSWER_BYTES = 4096;
const SLAB_BYTES = 1 << 16;
let slab = new Uint32Array(SLAB_BYTES / 4);
/** Its buffer: reading it from the array costs as much as copying a short answer. */
let slabBuffer = slab.buffer;
let slabUsed = 0;

/**
 * Copies the first bytes of `words`, four at a time, which makes the shortest answers 5 % cheaper than one by
 * one.
 */
function copyOut(words: Uint32Array<ArrayBuffer>, end: number): Uint8Array<ArrayBuffer> {
  if (end > SLAB_ANSWER_BYTES) return new Uint8Array(words.buffer).slice(0, end);
  const count = (end + 3) >> 2;
  if (slabUsed + count > slab.length) {
    slab = new Uint32Array(SLAB_BYTES / 4);
    slabBuffer = slab.buffer;
    slabUsed = 0;
  }
  const start = slabUsed;
  for (let index = 0; index < count; index++) slab[start + index] = words[index]!;
  slabUsed = start + count;
  return new Uint8Array(slabBuffer, start * 4, end);
}

const writer = new MessageWriter();

/**
 * Begins an answer. The next answer uses the same writer: callers must not await anything before `finish`.
 */
export function beginAnswer(message: Uint8Array, query: Answerable, form?: AnswerForm): MessageWriter {
  writer.begin(message, query, form);
  return writer;
}

/**
 * The answer size in bytes that every client accepts over UDP (RFC 1035 section 4.2.1); a smaller size in an
 * OPT record counts as this one (RFC 6891 section 6.2.5).
 */
const SMALLEST_PAYLOAD_BYTES = 512;

/** Answers to padded queries are padded to a multiple of this (RFC 8467 section 4.1). */
const PADDING_BLOCK_BYTES = 468;

/**
 * The longest time in seconds that HTTP caches may keep a stale answer: at most until the
 * secondary's next request to its primary (docs/reference/transfer.md). The records' TTLs do not change.
 */
const STALE_FRESHNESS_SECONDS = 1;

/** The properties of a transport that change the answer. */
export interface Transport {
  readonly name: "https" | "udp" | "tcp" | "dot";
  /** The longest answer in bytes, even if the client accepts more. */
  readonly longestAnswer: number;
  /** The longest answer with addresses for a client without an OPT record; further addresses are left out. */
  readonly longestPlainAnswer: number;
  /**
   * Whether an answer is one datagram. Its size is bounded by the client's payload size, and an RRset that
   * does not fit is left out whole, with TC: the client repeats the query over TCP (RFC 2181 section 9, RFC
   * 7766 section 5).
   */
  readonly isDatagram: boolean;
  /** Whether the transport is encrypted, so that padding is useful (RFC 7830 section 6). */
  readonly isEncrypted: boolean;
  /**
   * The idle timeout of the connection in units of 100 ms (RFC 7828 section 3.1); undefined if answers do not
   * report it.
   */
  readonly keepaliveTimeout: number | undefined;
  /**
   * Whether its clients have an access rule by where they are connected: no other endpoint is equivalent (RFC
   * 9462 section 4). Default: no.
   */
  readonly isOfRule?: boolean;
}

/** DNS over UDP. @param payloadBytes the longest answer, at least 512 */
export function udpTransport(payloadBytes: number): Transport {
  return {
    name: "udp",
    longestAnswer: payloadBytes,
    longestPlainAnswer: SMALLEST_PAYLOAD_BYTES,
    isDatagram: true,
    isEncrypted: false,
    keepaliveTimeout: undefined,
  };
}

/** DNS over TCP (RFC 7766) or TLS (RFC 7858). @param idleMilliseconds the idle timeout of connections */
export function streamTransport(name: "tcp" | "dot", idleMilliseconds: number): Transport {
  return {
    name,
    longestAnswer: MAX_MESSAGE_BYTES,
    longestPlainAnswer: MAX_MESSAGE_BYTES,
    isDatagram: false,
    isEncrypted: name === "dot",
    keepaliveTimeout: Math.min(Math.floor(idleMilliseconds / 100), 0xffff),
  };
}

/** The longest answer in bytes to a query with this OPT record (RFC 6891 sections 6.2.3 to 6.2.5). */
export function longestAnswerFor(transport: Transport, edns: Edns | undefined): number {
  if (!transport.isDatagram) return transport.longestAnswer;
  const taken = Math.max(edns?.payloadBytes ?? 0, SMALLEST_PAYLOAD_BYTES);
  return Math.min(taken, transport.longestAnswer);
}
