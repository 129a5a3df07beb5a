import { ConnectionError, ErrorCode, Flag } from "./protocol.ts";

/** A list of fields as it was decoded. */
export interface FieldList {
  /** Names and values in turn; undefined if there are more of them, or longer ones, than the limits allow. */
  readonly fields: readonly string[] | undefined;
  /** Which limit is exceeded. */
  readonly exceeds: "bytes" | "fields" | undefined;
  /** Why HTTP/2 does not allow a field of the list (RFC 9113 section 8.2); undefined if it allows all. */
  readonly malformed: string | undefined;
}

/** Bounds on a list of fields. */
export interface FieldListLimits {
  /** Bytes of all names and values. */
  readonly headerBytes: number;
  readonly headerFields: number;
}

/**
 * No shift below makes an integer negative, and no valid one is larger: strings and indices are shorter than
 * a block.
 */
const MOST_INTEGER = 1 << 24;
const MAX_TABLE_SIZE = 4096;

/** A string of Huffman codes, each of at least 5 bits, is at most 8/5 as long as its bytes. */
let scratch = Buffer.alloc(32 * 1024);

/** Between two blocks: an idle connection does not hold what it has read. */
const NONE = Buffer.alloc(0);

/**
 * Decodes the field blocks of one connection (RFC 7541). Every block has to be decoded, also of requests that
 * are rejected: the table is common to all of them. Fields that exceed the limits are decoded and dropped.
 */
export class HpackDecoder {
  readonly #limits: FieldListLimits;
  readonly #table = new DynamicTable(MAX_TABLE_SIZE);
  #block: Buffer = NONE;
  #at = 0;
  #end = 0;
  #malformed: string | undefined;

  constructor(limits: FieldListLimits) {
    this.#limits = limits;
  }

  /**
   * Decodes the block in `bytes` from `start` to `end`.
   * @throws {HpackError} the connection cannot go on
   */
  decode(bytes: Buffer, start: number, end: number): FieldList {
    this.#block = bytes;
    this.#at = start;
    this.#end = end;
    this.#malformed = undefined;
    const { headerBytes, headerFields } = this.#limits;
    const fields: string[] = [];
    let size = 0;
    let count = 0;
    let mayResize = true;
    while (this.#at < end) {
      const byte = bytes[this.#at]!;
      let name: string;
      let value: string;
      if (byte >= 0x80) {
        const index = this.#integer(7);
        name = this.#nameAt(index);
        value = this.#valueAt(index);
      } else if (byte >= 0x40) {
        name = this.#name(6);
        value = this.#string();
        this.#add(name, value);
      } else if (byte >= 0x20) {
        // RFC 7541 section 4.2: at the beginning of a block only.
        if (!mayResize) throw new HpackError("a table size update follows a field");
        const tableSize = this.#integer(5);
        if (tableSize > MAX_TABLE_SIZE)
          throw new HpackError(`the table size ${tableSize} is larger than ${MAX_TABLE_SIZE}`);
        this.#table.resize(tableSize);
        continue;
      } else {
        name = this.#name(4);
        value = this.#string();
        this.#malformed ??= checkField(name, value);
      }
      mayResize = false;
      size += name.length + value.length;
      count++;
      if (size <= headerBytes && count <= headerFields) fields.push(name, value);
    }
    this.#block = NONE;
    const exceeds = count > headerFields ? "fields" : size > headerBytes ? "bytes" : undefined;
    return { fields: exceeds === undefined ? fields : undefined, exceeds, malformed: this.#malformed };
  }

  #add(name: string, value: string): void {
    const malformed = checkField(name, value);
    this.#malformed ??= malformed;
    this.#table.add(name, value, malformed === undefined);
  }

  #nameAt(index: number): string {
    if (index === 0) throw new HpackError("the index is 0");
    if (index <= STATIC_LENGTH) return staticName(index);
    return this.#table.name(this.#dynamic(index));
  }

  #valueAt(index: number): string {
    if (index <= STATIC_LENGTH) return staticValue(index);
    const dynamic = this.#dynamic(index);
    if (!this.#table.isValid(dynamic))
      this.#malformed ??= checkField(this.#nameAt(index), this.#table.value(dynamic));
    return this.#table.value(dynamic);
  }

  #dynamic(index: number): number {
    const dynamic = index - STATIC_LENGTH - 1;
    if (dynamic >= this.#table.length) throw new HpackError(`no entry has the index ${index}`);
    return dynamic;
  }

  /** The name of a literal: an index, or a string. */
  #name(prefix: number): string {
    const index = this.#integer(prefix);
    return index === 0 ? this.#string() : this.#nameAt(index);
  }

  /** RFC 7541 section 5.1. */
  #integer(prefix: number): number {
    const most = (1 << prefix) - 1;
    let value = this.#block[this.#at++]! & most;
    if (value < most) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) throw new HpackError("an integer is cut off");
      const byte = this.#block[this.#at++]!;
      value += (byte & 0x7f) << shift;
      if (value > MOST_INTEGER) break;
      if (byte < 0x80) return value;
    }
    throw new HpackError("an integer is too large");
  }

  /** RFC 7541 section 5.2. */
  #string(): string {
    if (this.#at >= this.#end) throw new HpackError("a string is missing");
    const isHuffman = this.#block[this.#at]! >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw new HpackError("a string is cut off");
    this.#at = end;
    if (!isHuffman) return this.#block.toString("latin1", start, end);
    if (2 * length > scratch.length) scratch = Buffer.alloc(2 * length);
    return scratch.toString("latin1", 0, decodeHuffman(this.#block, start, end, scratch));
  }
}

/**
 * The first byte of a connection's first field block: a table of size 0 (RFC 7541 sections 4.2 and 6.3). The
 * encoder indexes nothing, so that no setting of the peer is ever smaller.
 */
export const NO_TABLE = 0x20;

/**
 * Encodes a field: from the static table, or as a literal that is not indexed, without Huffman codes. Names
 * are in lower case.
 */
export function encodeField(name: string, value: string): Buffer {
  const index = findStaticField(name, value);
  if (index > 0) return Buffer.from([0x80 | index]);
  const nameIndex = findStaticName(name);
  const head = nameIndex > 0 ? integer(0, 4, nameIndex) : Buffer.concat([Buffer.from([0]), string(name)]);
  return Buffer.concat([head, string(value)]);
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([integer(0, 7, bytes.length), bytes]);
}

/** RFC 7541 section 5.1. */
function integer(flags: number, prefix: number, value: number): Buffer {
  const most = (1 << prefix) - 1;
  if (value < most) return Buffer.from([flags | value]);
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 0x80; rest >>= 7) bytes.push(0x80 | (rest & 0x7f));
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** What an entry costs beside its name and value (RFC 7541 section 4.1). */
const ENTRY_OVERHEAD = 32;

/** Places of an entry in the array: its name, its value, and whether HTTP/2 allows it as a field. */
const PLACES = 3;

/**
 * A decoder's dynamic table: the newest entry has index 0. Sizes are as in RFC 7541 section 4.1. One array
 * for all entries, since Node makes each array longer than it has to be, and most tables have few entries.
 */
class DynamicTable {
  readonly #places: (string | boolean)[] = [];
  /** The place of the oldest entry; those before it are evicted. */
  #oldest = 0;
  #size = 0;
  #maxSize: number;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  get length(): number {
    return (this.#places.length - this.#oldest) / PLACES;
  }

  get size(): number {
    return this.#size;
  }

  name(index: number): string {
    return this.#places[this.#place(index)] as string;
  }

  value(index: number): string {
    return this.#places[this.#place(index) + 1] as string;
  }

  /** Whether HTTP/2 allows the entry as a field. */
  isValid(index: number): boolean {
    return this.#places[this.#place(index) + 2] as boolean;
  }

  /** Evicts entries until the table is no larger (RFC 7541 section 4.3). */
  resize(maxSize: number): void {
    this.#maxSize = maxSize;
    this.#evict(maxSize);
  }

  /** Adds an entry; one that is larger than the table empties it (RFC 7541 section 4.4). */
  add(name: string, value: string, isValid: boolean): void {
    const size = name.length + value.length + ENTRY_OVERHEAD;
    this.#evict(this.#maxSize - size);
    if (size > this.#maxSize) return;
    this.#places.push(name, value, isValid);
    this.#size += size;
  }

  #place(index: number): number {
    return this.#places.length - PLACES * (index + 1);
  }

  #evict(size: number): void {
    const places = this.#places;
    while (this.#size > size && this.#oldest < places.length) {
      const oldest = this.#oldest;
      this.#size -=
        (places[oldest] as string).length + (places[oldest + 1] as string).length + ENTRY_OVERHEAD;
      places[oldest] = "";
      places[oldest + 1] = "";
      this.#oldest += PLACES;
    }
    if (this.#oldest < 64 * PLACES || this.#oldest < places.length / 2) return;
    places.splice(0, this.#oldest);
    this.#oldest = 0;
  }
}

/** The static table: names and values in turn, from index 1 on (RFC 7541, appendix A). */
// biome-ignore format: an entry a line would be 61 lines
const ENTRIES = [
  ":authority", "", ":method", "GET", ":method", "POST", ":path", "/", ":path", "/index.html", ":scheme", "http", ":scheme", "https",
  ":status", "200", ":status", "204", ":status", "206", ":status", "304", ":status", "400", ":status", "404", ":status", "500",
  "accept-charset", "", "accept-encoding", "gzip, deflate", "accept-language", "", "accept-ranges", "", "accept", "",
  "access-control-allow-origin", "", "age", "", "allow", "", "authorization", "", "cache-control", "", "content-disposition", "",
  "content-encoding", "", "content-language", "", "content-length", "", "content-location", "", "content-range", "", "content-type", "",
  "cookie", "", "date", "", "etag", "", "expect", "", "expires", "", "from", "", "host", "", "if-match", "", "if-modified-since", "",
  "if-none-match", "", "if-range", "", "if-unmodified-since", "", "last-modified", "", "link", "", "location", "", "max-forwards", "",
  "proxy-authenticate", "", "proxy-authorization", "", "range", "", "referer", "", "refresh", "", "retry-after", "", "server", "",
  "set-cookie", "", "strict-transport-security", "", "transfer-encoding", "", "user-agent", "", "vary", "", "via", "",
  "www-authenticate", "",
] as const;

/** Entries of the static table. */
const STATIC_LENGTH = ENTRIES.length / 2;

/** @param index from 1 to `STATIC_LENGTH` */
function staticName(index: number): string {
  return ENTRIES[2 * index - 2]!;
}

/** @param index from 1 to `STATIC_LENGTH` */
function staticValue(index: number): string {
  return ENTRIES[2 * index - 1]!;
}

const BY_NAME = new Map<string, number>();
const BY_FIELD = new Map<string, number>();
for (let index = STATIC_LENGTH; index >= 1; index--) {
  BY_NAME.set(staticName(index), index);
  BY_FIELD.set(`${staticName(index)}\n${staticValue(index)}`, index);
}

/** The first entry with a name; 0 if there is none. */
function findStaticName(name: string): number {
  return BY_NAME.get(name) ?? 0;
}

/** The entry with a name and a value; 0 if there is none. */
function findStaticField(name: string, value: string): number {
  return BY_FIELD.get(`${name}\n${value}`) ?? 0;
}

/**
 * Bits of the code of each byte, and of EOS at last (RFC 7541, appendix B): the code is canonical, so that
 * the lengths define it.
 */
// biome-ignore format: as in the appendix, 32 bytes a line
const CODE_LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];
const EOS = 256;

/** Nodes of the code's tree that are not leaves; the root is 0. */
const NODES = 256;
const EMITS = 1 << 16;
const FAILS = 1 << 17;

/**
 * For each node and the next four bits: the next node (bits 0 to 7), the byte that ends there (bits 8 to 15),
 * `EMITS`, `FAILS`. No code has less than 5 bits.
 */
const STEPS = new Int32Array(NODES * 16);
/** The nodes at which a string may end: up to 7 bits, all ones (section 5.2). */
const MAY_END = new Uint8Array(NODES);

buildTables();

/**
 * Decodes the string in `bytes` from `start` to `end`.
 * @param scratch takes the decoded bytes: at least 8/5 as many
 * @returns how many there are
 * @throws {HpackError} for EOS in the string, and for padding that is longer than 7 bits or has a zero
 */
function decodeHuffman(bytes: Uint8Array, start: number, end: number, scratch: Uint8Array): number {
  let node = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    let step = STEPS[(node << 4) | (byte >> 4)]!;
    if ((step & EMITS) !== 0) scratch[length++] = (step >> 8) & 0xff;
    if ((step & FAILS) !== 0) throw new HpackError("a string has the Huffman code of EOS");
    step = STEPS[((step & 0xff) << 4) | (byte & 15)]!;
    if ((step & EMITS) !== 0) scratch[length++] = (step >> 8) & 0xff;
    if ((step & FAILS) !== 0) throw new HpackError("a string has the Huffman code of EOS");
    node = step & 0xff;
  }
  if (MAY_END[node] === 0) throw new HpackError("a string's padding is no part of the Huffman code of EOS");
  return length;
}

function buildTables(): void {
  const children = buildTree();
  for (let node = 0; node < NODES; node++)
    for (let bits = 0; bits < 16; bits++) {
      let at = node;
      let step = 0;
      for (let bit = 3; bit >= 0; bit--) {
        const next = children[2 * at + ((bits >> bit) & 1)]!;
        if (next >= 0) at = next;
        else {
          const symbol = -1 - next;
          step |= symbol === EOS ? FAILS : EMITS | (symbol << 8);
          at = 0;
        }
      }
      STEPS[(node << 4) | bits] = step | at;
    }
  let node = 0;
  for (let bits = 0; bits <= 7; bits++) {
    MAY_END[node] = 1;
    node = children[2 * node + 1]!;
  }
}

/** Two children for each node: another node, or -1 - symbol for a leaf. */
function buildTree(): Int32Array {
  const children = new Int32Array(2 * NODES);
  const symbols = CODE_LENGTHS.map((_, symbol) => symbol);
  symbols.sort((one, other) => CODE_LENGTHS[one]! - CODE_LENGTHS[other]! || one - other);
  let nodes = 1;
  let code = 0;
  let length = 0;
  for (const symbol of symbols) {
    code <<= CODE_LENGTHS[symbol]! - length;
    length = CODE_LENGTHS[symbol]!;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const slot = 2 * node + ((code >> bit) & 1);
      if (children[slot] === 0) children[slot] = nodes++;
      node = children[slot]!;
    }
    children[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return children;
}

/**
 * A field block that cannot be decoded: the peer's table and ours are no longer the same (RFC 9113 section
 * 4.3).
 */
export class HpackError extends Error {}

/** Bytes of names: tokens of RFC 9110 section 5.6.2 without upper case (RFC 9113 section 8.2.1). */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** RFC 9113 section 8.2.1: NUL, LF and CR are nowhere in a value, and space and tab not at its ends. */
const WRONG_VALUE = /[\0\n\r]|^[ \t]|[ \t]$/;

/** Fields of a connection of HTTP/1.1 (RFC 9113 section 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Why HTTP/2 does not allow a field, whatever the message (RFC 9113 section 8.2); undefined if it does. */
function checkField(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return "a field name has a byte that no name may have";
  if (WRONG_VALUE.test(value)) return "a field value has a byte that no value may have, or space at its ends";
  if (OF_CONNECTIONS.has(name) || (name === "te" && value !== "trailers"))
    return "a field belongs to connections of HTTP/1.1";
  return undefined;
}

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
