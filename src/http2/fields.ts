import { checkField, encodeField } from "./hpack.ts";
import { ConnectionError, ErrorCode, Flag } from "./protocol.ts";

/** What HTTP/2 says of a request beside its other fields (RFC 9113 section 8.3.1). */
export interface RequestLine {
  readonly method: string;
  /** Empty for CONNECT. */
  readonly scheme: string;
  /** `:authority`, or else the Host field; empty if there is neither. */
  readonly authority: string;
  /** Empty for CONNECT. */
  readonly path: string;
  /** Undefined if the request does not say it. */
  readonly contentLength: number | undefined;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DIGITS = /^\d{1,15}$/;

/**
 * Reads the fields of a request: names and values in turn, each of which is valid by itself.
 * @returns a text that says why the request is malformed (sections 8.1.1, 8.3 and 8.5)
 */
export function readRequestLine(fields: readonly string[]): RequestLine | string {
  let method: string | undefined;
  let scheme: string | undefined;
  let authority: string | undefined;
  let path: string | undefined;
  let host: string | undefined;
  let contentLength: number | undefined;
  let at = 0;
  for (; at < fields.length && fields[at]!.startsWith(":"); at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    if (name === ":path" && path === undefined) path = value;
    else if (name === ":method" && method === undefined) method = value;
    else if (name === ":scheme" && scheme === undefined) scheme = value;
    else if (name === ":authority" && authority === undefined) authority = value;
    else return `${name} is unknown, or is there twice`;
  }
  for (; at < fields.length; at += 2) {
    const name = fields[at]!;
    if (name.startsWith(":")) return `${name} follows other fields`;
    if (name === "content-length") {
      const value = fields[at + 1]!;
      if (!DIGITS.test(value) || (contentLength !== undefined && contentLength !== Number(value)))
        return "content-length is no number, or two numbers";
      contentLength = Number(value);
    } else if (name === "host") {
      if (host !== undefined) return "host is there twice";
      host = fields[at + 1]!;
    }
  }
  if (method === undefined || !TOKEN.test(method)) return ":method is missing, or is no token";
  if (method === "CONNECT") {
    if (scheme !== undefined || path !== undefined || !authority) return "CONNECT has :authority alone";
  } else if (scheme === undefined || path === undefined) return ":scheme or :path is missing";
  else if (!path.startsWith("/") && !(path === "*" && method === "OPTIONS")) return ":path is no path";
  if (authority?.includes("@")) return ":authority has userinfo";
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase())
    return "host is not :authority";
  return {
    method,
    scheme: scheme ?? "",
    authority: authority ?? host ?? "",
    path: path ?? "",
    contentLength,
  };
}

/** Why fields cannot be trailers (section 8.1); undefined if they can. */
export function checkTrailers(fields: readonly string[]): string | undefined {
  for (let at = 0; at < fields.length; at += 2)
    if (fields[at]!.startsWith(":")) return `trailers have ${fields[at]}`;
  return undefined;
}

export type ResponseFields = Readonly<Record<string, string>>;

/**
 * Blocks by the object of the fields: answers share equal fields. By status, since one object may be of
 * several.
 */
const shared = new WeakMap<ResponseFields, Map<number, Buffer>>();

/**
 * The field block of a response, without `date`. It is made once for fields that cannot change.
 * @throws {TypeError} for a field that HTTP/2 does not allow
 */
export function responseBlock(status: number, fields: ResponseFields): Buffer {
  const known = shared.get(fields)?.get(status);
  if (known !== undefined) return known;
  const encoded = [encodeField(":status", String(status))];
  for (const name of Object.keys(fields)) {
    const lower = name.toLowerCase();
    encoded.push(encodeField(lower, checked(lower, fields[name]!)));
  }
  const block = Buffer.concat(encoded);
  if (Object.isFrozen(fields)) {
    const blocks = shared.get(fields) ?? new Map<number, Buffer>();
    shared.set(fields, blocks.set(status, block));
  }
  return block;
}

/** A block with the `date` that it was last sent with. */
interface DatedBlock {
  date: Buffer;
  whole: Buffer;
}

const dated = new WeakMap<Buffer, DatedBlock>();

/**
 * The field block of a response with a field `date`. Blocks of fields that cannot change are put together
 * once for each date.
 * @throws {TypeError} for a field that HTTP/2 does not allow
 */
export function datedBlock(status: number, fields: ResponseFields, date: Buffer): Buffer {
  const block = responseBlock(status, fields);
  const known = dated.get(block);
  if (known?.date === date) return known.whole;
  const whole = Buffer.concat([block, date]);
  if (known !== undefined) {
    known.date = date;
    known.whole = whole;
  } else if (Object.isFrozen(fields)) dated.set(block, { date, whole });
  return whole;
}

let dateSecond = 0;
let date: Buffer = Buffer.alloc(0);

/** The field `date` (RFC 9110 section 6.6.1), made once a second. */
export function dateField(now: number): Buffer {
  const second = Math.floor(now / 1000);
  if (second === dateSecond) return date;
  dateSecond = second;
  date = encodeField("date", new Date(now).toUTCString());
  return date;
}

/** @throws {TypeError} for a field that HTTP/2 does not allow, or whose value has a character above U+00FF */
function checked(name: string, value: string): string {
  const wrong = /[^\0-\xff]/.test(value)
    ? "a field value has a character above U+00FF"
    : checkField(name, value);
  if (wrong !== undefined) throw new TypeError(`${name}: ${wrong}`);
  return value;
}

/** Bytes of the block of a request within the limits are never more; longer ones end the connection. */
const MOST_BYTES_BESIDE_FIELDS = 16 * 1024;
/** CONTINUATION frames of one block (CVE-2024-27316). */
const MOST_FRAMES = 64;

/** A field block that has begun: HEADERS and its CONTINUATION frames (RFC 9113 section 4.3). */
export class FieldBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly #parts: Uint8Array[] = [];
  #size = 0;

  constructor(streamId: number, endStream: boolean) {
    this.streamId = streamId;
    this.endStream = endStream;
  }

  /**
   * Adds the fragment of a frame.
   * @param most bytes of fields that a request may have
   * @throws {ConnectionError} if the block is too long to be decoded
   */
  add(bytes: Buffer, start: number, end: number, most: number): void {
    this.#size += end - start;
    if (this.#parts.length >= MOST_FRAMES || this.#size > 2 * most + MOST_BYTES_BESIDE_FIELDS)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "a field block is too long");
    this.#parts.push(new Uint8Array(bytes.subarray(start, end)));
  }

  whole(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/**
 * Where the fragment of a HEADERS frame, or the data of a DATA frame, is: without padding and priority (RFC
 * 9113 sections 6.1 and 6.2).
 * @throws {ConnectionError}
 */
export function withoutPadding(
  flags: number,
  bytes: Buffer,
  start: number,
  end: number,
  hasPriority: boolean,
): { readonly start: number; readonly end: number } {
  let from = start;
  let padding = 0;
  if ((flags & Flag.PADDED) !== 0) {
    if (from >= end) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame has no pad length");
    padding = bytes[from++]!;
  }
  if (hasPriority) {
    if (end - from < 5)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS has a cut off priority");
    from += 5;
  }
  if (padding > end - from)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the payload");
  return { start: from, end: end - padding };
}
