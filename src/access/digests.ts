const DIGEST = /^[0-9a-f]{64}$/i;

/** SHA-256; without a promise if the host can. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

/** SHA-256 by the Web Cryptography API, which every host has. */
export const sha256BySubtle: Sha256 = async (bytes) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** A SHA-256 in 64 hex digits; undefined for any other text. */
export function parseDigest(hex: string): Uint8Array | undefined {
  if (!DIGEST.test(hex)) return undefined;
  return Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
