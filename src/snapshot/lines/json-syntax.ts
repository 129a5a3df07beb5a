import { joinBytes } from "../../dns/bounded-body.ts";
import { isJsonObject, PROTOTYPE_KEY } from "../json-value.ts";
import type { LineLimits } from "./patch-line.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Follows the shape of a JSON text in UTF-8, part by part. For any other text each number is at least what a
 * parser would meet.
 */
export class JsonShape {
  /** The deepest level so far. */
  deepest = 0;
  /** Members and elements so far, about: commas, and what stands first in an object or an array. */
  values = 0;
  /** Members of objects so far: colons outside of strings. */
  members = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** Takes the next part. */
  feed(part: Uint8Array): void {
    let { deepest, values, members } = this;
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let index = 0; index < part.length; index++) {
      const byte = part[index]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) values++;
      else if (byte === COLON) members++;
      // "[" and "{" differ in one bit, and so do "]" and "}".
      else if ((byte | 0x20) === 0x7b) {
        values++;
        if (++depth > deepest) deepest = depth;
      } else if ((byte | 0x20) === 0x7d) depth--;
    }
    this.deepest = deepest;
    this.values = values;
    this.members = members;
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
  }
}

/** The JSON value of a line. */
interface JsonLine {
  readonly value: unknown;
  /** Its JSON. */
  readonly text: string;
  /** Members and elements, about. */
  readonly values: number;
  /** Whether an object at any depth has a member `__proto__`. */
  readonly hasPrototypeKey: boolean;
}

/**
 * Reads one line as JSON (RFC 8259). Bounds are checked before the parser makes objects.
 * @throws {LinesError} saying what is wrong where
 */
export function readJsonLine(bytes: Uint8Array, line: number, limits: LineLimits): JsonLine {
  const shape = new JsonShape();
  shape.feed(bytes);
  if (shape.deepest > limits.lineLevels)
    throw new LinesError("JSON_TOO_DEEP", line, `is nested more than ${limits.lineLevels} levels deep`);
  if (shape.values > limits.lineValues)
    throw new LinesError(
      "LINE_TOO_LONG",
      line,
      `has more than ${limits.lineValues} members and elements: split the entry`,
    );
  const text = decode(bytes, line);
  const value = parse(text, line);
  const counted: Counted = { members: 0, hasPrototypeKey: false };
  count(value, counted);
  if (counted.members !== shape.members) {
    const name = JSON.stringify(findDuplicateMember(text, value).slice(0, 300));
    throw new LinesError("INVALID_JSON", line, `one object has two members ${name}`);
  }
  return { value, text, values: shape.values, hasPrototypeKey: counted.hasPrototypeKey };
}

interface Counted {
  members: number;
  hasPrototypeKey: boolean;
}

function count(value: unknown, counted: Counted): void {
  if (Array.isArray(value)) for (const element of value) count(element, counted);
  else if (isJsonObject(value)) {
    if (Object.hasOwn(value, PROTOTYPE_KEY)) counted.hasPrototypeKey = true;
    for (const name of Object.keys(value)) {
      counted.members++;
      const member = value[name];
      if (typeof member === "object" && member !== null) count(member, counted);
    }
  }
}

/**
 * The first name, in their order, that the text has more often than the value: of two members of one name the
 * parser keeps the last.
 */
function findDuplicateMember(text: string, value: unknown): string {
  const kept = memberNames(JSON.stringify(value));
  return memberNames(text).find((name, index) => name !== kept[index])!;
}

/** The sorted names of all members of all objects. */
function memberNames(json: string): string[] {
  const strings = json.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")\s*(:?)/g);
  return Array.from(strings, ([, name, colon]) => (colon ? [JSON.parse(name!) as string] : []))
    .flat()
    .sort();
}

function decode(bytes: Uint8Array, line: number): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new LinesError("INVALID_UTF8", line, "is not UTF-8");
  }
}

function parse(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The engine counts lines of the text, which is one line, and may quote its end, or a long word of it.
    const message = (error as Error).message.slice(0, 300);
    const reason = message.replace(/ \(line \d+ column \d+\)$/, "").replaceAll("\n", "\\n");
    const position = / at position (\d+)$/.exec(reason)?.[1];
    const found = position ? `, found ${JSON.stringify(text.substring(+position, +position + 12))}` : "";
    throw new LinesError("INVALID_JSON", line, `is not JSON: ${reason}${found}`);
  }
}

/** Every host has both; this folder compiles without the types of any host. */
const { TextDecoder, TextEncoder } = globalThis as unknown as {
  readonly TextDecoder: new (
    label: string,
    options: { readonly fatal: boolean; readonly ignoreBOM: boolean },
  ) => { decode(bytes: Uint8Array): string };
  readonly TextEncoder: new () => { encode(text: string): Uint8Array<ArrayBuffer> };
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

const NEWLINE = 0x0a;

/** Splits bytes that come in pieces into lines; holds at most one line that is not complete. */
export class LineSplitter {
  /** Complete lines so far. */
  lines = 0;
  readonly #most: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** @param most bytes of a line, without its end */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes of the line that is not complete yet. */
  get open(): number {
    return this.#bytes;
  }

  /**
   * Takes the next piece and yields the lines that it completes, each with its newline. A line may be a view
   * of the piece.
   * @throws {LinesError} LINE_TOO_LONG, before more of the line is held
   */
  *feed(piece: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    while (start < piece.length) {
      const newline = piece.indexOf(NEWLINE, start);
      const end = newline === -1 ? piece.length : newline + 1;
      const part = piece.subarray(start, end);
      this.#bytes += part.length;
      if (this.#bytes - (newline === -1 ? 0 : 1) > this.#most)
        throw new LinesError("LINE_TOO_LONG", this.lines + 1, `has more than ${this.#most} bytes`);
      if (newline === -1) {
        // A copy: the caller may use the piece's memory again.
        this.#pieces.push(part.slice());
        return;
      }
      const line = this.#pieces.length === 0 ? part : joinBytes([...this.#pieces, part], this.#bytes);
      this.#pieces = [];
      this.#bytes = 0;
      this.lines++;
      yield line;
      start = end;
    }
  }
}

/** Why lines cannot be read. */
export type LinesErrorCode =
  | "INVALID_UTF8"
  | "INVALID_JSON"
  | "INVALID_LINE"
  | "UNSUPPORTED_FORMAT"
  | "LINE_TOO_LONG"
  | "JSON_TOO_DEEP"
  | "END_MISSING"
  | "END_MISMATCH";

/** Lines cannot be read: the first error, with the number of its line. */
export class LinesError extends Error {
  readonly code: LinesErrorCode;
  /** From 1. */
  readonly line: number;

  constructor(code: LinesErrorCode, line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.code = code;
    this.line = line;
  }
}
