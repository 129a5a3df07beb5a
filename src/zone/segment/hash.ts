import { createSha256, sha256Of } from "../../snapshot/sha256.ts";

/** Bytes of a hash. */
export const HASH_BYTES = 16;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** The value of a hexadecimal digit, by its character code. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, "0123456789abcdef".indexOf(String.fromCharCode(code))),
);

/** The name of a blob: 128 bits of the SHA-256 of all its bytes, in hexadecimal digits. */
export function hashBlob(bytes: Uint8Array): string {
  return formatHash(sha256Of(bytes), 0);
}

/** Bytes that are hashed in one step: less than a millisecond. */
const BYTES_IN_STEP = 1 << 17;

/** `hashBlob`, in steps. */
export function* hashInSteps(bytes: Uint8Array): Generator<void, string> {
  if (bytes.length <= BYTES_IN_STEP) return hashBlob(bytes);
  const hash = createSha256();
  for (let at = 0; at < bytes.length; at += BYTES_IN_STEP) {
    hash.update(bytes.subarray(at, at + BYTES_IN_STEP));
    yield;
  }
  return formatHash(hash.digest(), 0);
}

/** The hash whose bytes are at `at`, in hexadecimal digits. */
export function formatHash(bytes: Uint8Array, at: number): string {
  let text = "";
  for (let index = at; index < at + HASH_BYTES; index++) text += HEX[bytes[index]!]!;
  return text;
}

/**
 * Writes a hash in hexadecimal digits as bytes at `at`. A change writes pages with up to 256 hashes: 27 µs each, 166 µs with `parseInt`
 * (Node 24).
 */
export function writeHash(into: Uint8Array, at: number, hash: string): void {
  for (let index = 0; index < HASH_BYTES; index++)
    into[at + index] = (DIGITS[hash.charCodeAt(index * 2)]! << 4) | DIGITS[hash.charCodeAt(index * 2 + 1)]!;
}
