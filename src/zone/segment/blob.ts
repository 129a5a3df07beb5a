import { BLOB_MAGIC, BLOB_WORDS, BlobHeader, FORMAT_VERSION } from "./layout.ts";

/** Bytes cannot be loaded: foreign, of another format version, cut off, or malformed. */
export class FormatError extends Error {
  readonly code = "INVALID_ZONES";
}

/** Bytes have another format version: another version of the program wrote them. */
export class FormatVersionError extends FormatError {}

/** A part of a generation is full: one more entry would exceed a limit of the format. */
export class CapacityError extends Error {
  readonly code = "ZONES_CAPACITY";
}

/**
 * The words of a blob, after its first ones are checked.
 * @param what for messages, with its article
 * @throws {FormatError} for bytes that are not a blob of that kind
 */
export function readBlob(bytes: Uint8Array<ArrayBuffer>, kind: number, what: string): Uint32Array {
  check(bytes.byteOffset % 4 === 0, `${what} does not start at a multiple of 4`);
  check(bytes.length >= BLOB_WORDS * 4, `${bytes.length} bytes are too few for ${what}`);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  check(words[BlobHeader.magic] === BLOB_MAGIC, `these bytes are not ${what}`);
  if (words[BlobHeader.version] !== FORMAT_VERSION)
    throw new FormatVersionError(
      `${what} has format version ${words[BlobHeader.version]}; this program reads ${FORMAT_VERSION}`,
    );
  check(words[BlobHeader.kind] === kind, `these bytes are not ${what}`);
  const total = words[BlobHeader.totalBytes]!;
  check(total === bytes.length, `${what} should have ${total} bytes and has ${bytes.length}`);
  check(total % 4 === 0, `the length of ${what} is not a multiple of 4`);
  return words;
}

/** Bytes for a blob with its first words. @param length in bytes; rounded up to a multiple of 4 */
export function createBlob(
  kind: number,
  length: number,
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly words: Uint32Array } {
  const bytes = new Uint8Array(align(length));
  const words = new Uint32Array(bytes.buffer);
  words[BlobHeader.magic] = BLOB_MAGIC;
  words[BlobHeader.version] = FORMAT_VERSION;
  words[BlobHeader.kind] = kind;
  words[BlobHeader.totalBytes] = bytes.length;
  return { bytes, words };
}

/** The next multiple of 4. */
export function align(length: number): number {
  return (length + 3) & ~3;
}

/** @throws {FormatError} if a claim about bytes is false */
export function check(claim: boolean, message: string): asserts claim {
  if (!claim) throw new FormatError(message);
}

/**
 * JSON in ASCII from `start` to `end`, and nothing but zeros behind it.
 * @throws {FormatError} if it is malformed
 */
export function readJson(bytes: Uint8Array, start: number, length: number, what: string): unknown {
  const padded = align(start + length);
  check(padded <= bytes.length, `the tables of ${what} end behind it`);
  for (let index = start + length; index < padded; index++)
    check(bytes[index] === 0, `the tables of ${what} are not followed by zeros`);
  let text = "";
  for (let index = start; index < start + length; index++) text += String.fromCharCode(bytes[index]!);
  try {
    return JSON.parse(text);
  } catch {
    throw new FormatError(`the tables of ${what} are not JSON`);
  }
}

/** Text as ASCII JSON: other characters are escaped. */
export function writeJson(value: unknown): Uint8Array {
  const text = JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}
