/** Bytes cannot be loaded: foreign, of another format version, cut off, or malformed. */
export class FormatError extends Error {
  readonly code = "INVALID_ZONES";
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
