import { createHash } from "node:crypto";

const DIGEST_CHARACTERS = 64;

/** Writes a JSON value as one line: its SHA-256 in hex, a space, the JSON text, a line feed. */
export function encodeLine(value: unknown): Buffer {
  const text = JSON.stringify(value);
  return Buffer.from(`${createHash("sha256").update(text).digest("hex")} ${text}\n`);
}

/** Reads a line as `encodeLine` writes it, without its line feed; undefined for one that is torn or altered. */
export function decodeLine(line: Buffer): { readonly value: unknown } | undefined {
  const text = line.subarray(DIGEST_CHARACTERS + 1);
  const head = line.toString("latin1", 0, DIGEST_CHARACTERS + 1);
  if (head !== `${createHash("sha256").update(text).digest("hex")} `) return undefined;
  return { value: JSON.parse(text.toString("utf8")) };
}
