import { createHash, randomBytes } from "node:crypto";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** A bearer token of 256 random bits, and its SHA-256 in hex for the gateway's config file. */
export function makeToken(): { readonly token: string; readonly sha256: string } {
  return withHash(randomBytes(32).toString("base64url"));
}

/** A token of 160 random bits that is a DNS label (RFC 1035 section 2.3.1): lower-case base32 (RFC 4648 section 6), independent of case. */
export function makeHostNameToken(): { readonly token: string; readonly sha256: string } {
  // Five bits of each byte, all equally likely.
  return withHash(Array.from(randomBytes(32), (octet) => BASE32[octet & 31]).join(""));
}

function withHash(token: string) {
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}
