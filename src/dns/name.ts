import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./codes.ts";

/** `FOLD[byte]` is the byte with ASCII letters in lower case (RFC 4343 section 3). */
export const FOLD: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

/** A text is not a DNS name; `message` says why. */
export class NameError extends Error {
  readonly code = "INVALID_NAME";
}

/**
 * Reads a name in master-file form (RFC 1035 section 5.1: `\.` and `\DDD` escapes, trailing dot
 * optional) into wire format, case kept. Rejects characters outside ASCII: use an A-label.
 * @throws {NameError} naming the label that is empty, too long or malformed.
 */
export function parseName(text: string): Uint8Array<ArrayBuffer> {
  if (text === ".") return Uint8Array.of(0);
  if (text === "") throw new NameError("the name is empty; write the root as a dot");
  const bytes: number[] = [];
  let label: number[] = [];
  const endLabel = () => {
    if (label.length === 0) throw new NameError(`${JSON.stringify(text)} has an empty label`);
    if (label.length > MAX_LABEL_BYTES)
      throw new NameError(
        `${JSON.stringify(text)} has a label of ${label.length} bytes; at most ${MAX_LABEL_BYTES} are allowed`,
      );
    bytes.push(label.length, ...label);
    label = [];
  };
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!;
    if (character === ".") {
      endLabel();
    } else if (character === "\\") {
      const escaped = /^(?:\d{3}|\D)/.exec(text.slice(index + 1, index + 4))?.[0] ?? "";
      const value = escaped.length === 3 ? Number(escaped) : escaped.charCodeAt(0);
      if (Number.isNaN(value) || value > 255)
        throw new NameError(
          `${JSON.stringify(text)} has a malformed escape at position ${index}: a backslash needs three digits (\\000 to \\255) or another character after it`,
        );
      label.push(value);
      index += escaped.length;
    } else {
      const code = character.charCodeAt(0);
      if (code > 0x7e || code < 0x21)
        throw new NameError(
          `${JSON.stringify(text)} has a character at position ${index} that a name must not contain; write it as \\DDD, or an international name as its A-label (xn--…)`,
        );
      label.push(code);
    }
  }
  if (label.length > 0) endLabel();
  bytes.push(0);
  if (bytes.length > MAX_NAME_BYTES)
    throw new NameError(
      `${JSON.stringify(text.slice(0, 64))}… takes ${bytes.length} bytes; at most ${MAX_NAME_BYTES} are allowed`,
    );
  return Uint8Array.from(bytes);
}

/** Writes an uncompressed wire name in master-file form with the trailing dot, and escapes special characters. */
export function formatName(wire: Uint8Array, start = 0): string {
  if (wire[start] === 0) return ".";
  let text = "";
  let position = start;
  for (let length = wire[position]!; length !== 0; length = wire[position]!) {
    for (let index = position + 1; index <= position + length; index++) {
      const byte = wire[index]!;
      const character = String.fromCharCode(byte);
      if (byte < 0x21 || byte > 0x7e) text += `\\${String(byte).padStart(3, "0")}`;
      else text += /[."\\;()@$]/.test(character) ? `\\${character}` : character;
    }
    text += ".";
    position += length + 1;
  }
  return text;
}

/** A copy with ASCII letters in lower case: comparisons use this form (RFC 4343). */
export function foldName(wire: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(wire, (byte) => FOLD[byte]!);
}

/** The number of labels of a wire name without the root label. */
export function countLabels(wire: Uint8Array): number {
  let count = 0;
  for (let position = 0; wire[position] !== 0; position += wire[position]! + 1) count++;
  return count;
}
