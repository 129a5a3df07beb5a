import { bytesToHex } from "@noble/hashes/utils.js";
import { isJsonObject, type JsonObject } from "../json-value.ts";
import { COLLECTIONS, createSha256, SINGLES } from "../parse.ts";
import { Report } from "../report.ts";
import { isClusterId } from "../schema.ts";
import { LineSplitter, LinesError, readJsonLine } from "./json-syntax.ts";
import {
  DEFAULT_LINE_LIMITS,
  LINES_FORMAT_VERSION,
  type LineLimits,
  type LinesEnd,
  type LinesHeader,
  type PatchLine,
} from "./patch-line.ts";

/** A change as it was read. */
export interface ReadLine {
  /** The line's number, from 1. */
  readonly number: number;
  readonly change: PatchLine;
  /** The same as JSON. */
  readonly text: string;
  /** Members and elements, about. */
  readonly values: number;
  /** Whether an object in the line has a member `__proto__`, which no snapshot may have. */
  readonly hasPrototypeKey: boolean;
}

/** No key of an entry is longer. */
const MOST_KEY_CHARACTERS = 1024;
const NAMES: ReadonlySet<string> = new Set([...COLLECTIONS, ...SINGLES]);
const SINGLE_NAMES: ReadonlySet<string> = new Set(SINGLES);

/**
 * Reads lines from bytes that come in pieces: the first line, changes, and the last line with their number
 * and hash. What a change says is not checked here (`Stage` does), only its form.
 */
export class LinesReader {
  /** The first line, once it was read. */
  header: LinesHeader | undefined;
  /** The last line, once it was read and fits what came before. */
  end: LinesEnd | undefined;
  readonly #limits: LineLimits;
  readonly #splitter: LineSplitter;
  readonly #hash = createSha256();

  constructor(limits: LineLimits = DEFAULT_LINE_LIMITS) {
    this.#limits = limits;
    this.#splitter = new LineSplitter(limits.lineBytes);
  }

  /**
   * Takes the next piece and yields the changes that it completes, each when the caller takes it.
   * @throws {LinesError} for the first line that is wrong
   */
  *feed(piece: Uint8Array): Generator<ReadLine> {
    for (const bytes of this.#splitter.feed(piece)) {
      const number = this.#splitter.lines;
      if (this.end !== undefined)
        throw invalid(number, "follows the last line, which has the count and the hash");
      const { value, ...read } = readJsonLine(bytes, number, this.#limits);
      if (number === 1) this.header = readHeader(value);
      else if (isJsonObject(value)) {
        this.end = this.#readEnd(value, number);
        continue;
      }
      this.#hash.update(bytes);
      if (number > 1) yield { number, change: readChange(value, number), ...read };
    }
  }

  /**
   * Checks that nothing is missing.
   * @throws {LinesError} END_MISSING
   */
  finish(): LinesHeader {
    if (this.header !== undefined && this.end !== undefined && this.#splitter.open === 0) return this.header;
    throw new LinesError(
      "END_MISSING",
      this.#splitter.lines + 1,
      'the lines end without {"lines":…,"sha256":…}: something is cut off',
    );
  }

  #readEnd({ lines, sha256: hash, ...others }: JsonObject, number: number): LinesEnd {
    if (typeof lines !== "number" || typeof hash !== "string" || Object.keys(others).length > 0)
      throw invalid(number, "is neither a change, which is an array, nor the last line");
    if (lines !== number - 1)
      throw new LinesError("END_MISMATCH", number, `counts ${lines} lines, but follows ${number - 1}`);
    const held = bytesToHex(this.#hash.digest());
    if (held !== hash.toLowerCase())
      throw new LinesError("END_MISMATCH", number, `the bytes before it have the SHA-256 ${held}`);
    return { lines, sha256: held };
  }
}

function readHeader(value: unknown): LinesHeader {
  if (!isJsonObject(value) || !Object.hasOwn(value, "formatVersion"))
    throw invalid(1, 'the first line must be {"formatVersion":2,"clusterId":…}');
  const { formatVersion, clusterId, ...others } = value;
  if (formatVersion !== LINES_FORMAT_VERSION)
    throw new LinesError(
      "UNSUPPORTED_FORMAT",
      1,
      `has the format version ${JSON.stringify(formatVersion)}; this program reads ${LINES_FORMAT_VERSION}`,
    );
  if (typeof clusterId !== "string" || !isClusterId(clusterId))
    throw invalid(1, "clusterId must be one RFC 1123 label, or two joined by a dot");
  const [unknown] = Object.keys(others).filter((name) => !Object.hasOwn(Report.shape, name));
  if (unknown !== undefined)
    throw invalid(1, `${JSON.stringify(unknown.slice(0, 300))} is not a known field`);
  const report = Report.safeParse(others);
  if (report.success) return { formatVersion, clusterId, ...report.data };
  const { path, message } = report.error.issues[0]!;
  throw invalid(1, `${path.join(".")}: ${message}`);
}

function readChange(value: unknown, number: number): PatchLine {
  if (!Array.isArray(value)) throw invalid(number, "is not a change, which is an array");
  const [name, ...rest] = value as unknown[];
  if (typeof name !== "string" || !NAMES.has(name))
    throw invalid(number, `must begin with one of ${[...NAMES].join(", ")}`);
  const patch = rest.at(-1);
  const isSingle = SINGLE_NAMES.has(name);
  const [key] = rest;
  const hasForm = isSingle ? rest.length === 1 : rest.length === 2 && typeof key === "string";
  if (typeof key === "string" && key.length > MOST_KEY_CHARACTERS)
    throw invalid(number, `has a key of more than ${MOST_KEY_CHARACTERS} characters`);
  if (!hasForm || (patch !== null && !isJsonObject(patch)))
    throw invalid(number, `must be ["${name}",${isSingle ? "" : "<key>,"}<object or null>]`);
  return value as unknown as PatchLine;
}

function invalid(line: number, message: string): LinesError {
  return new LinesError("INVALID_LINE", line, message);
}
