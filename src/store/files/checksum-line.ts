import { createHash } from "node:crypto";

const NEWLINE = 0x0a;
const DIGEST_CHARACTERS = 64;

/** Writes a JSON value as one line: its SHA-256 in hex, a space, the JSON text, a line feed. */
export function encodeLine(value: unknown): Buffer {
  const text = JSON.stringify(value);
  return Buffer.from(`${createHash("sha256").update(text).digest("hex")} ${text}\n`);
}

/** The lines up to the first that is torn or altered. */
export interface DecodedLines {
  readonly values: readonly unknown[];
  /** For each value, where its line ends, in octets. */
  readonly ends: readonly number[];
  /** Whether every octet belongs to a whole line. */
  readonly whole: boolean;
}

/** Reads lines as `encodeLine` writes them, and stops at the first that its checksum does not fit. */
export function decodeLines(bytes: Buffer): DecodedLines {
  const values: unknown[] = [];
  const ends: number[] = [];
  let start = 0;
  while (start < bytes.length) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline === -1) break;
    const text = bytes.subarray(start + DIGEST_CHARACTERS + 1, newline);
    const head = bytes.toString("latin1", start, start + DIGEST_CHARACTERS + 1);
    if (head !== `${createHash("sha256").update(text).digest("hex")} `) break;
    values.push(JSON.parse(text.toString("utf8")));
    start = newline + 1;
    ends.push(start);
  }
  return { values, ends, whole: start === bytes.length };
}
