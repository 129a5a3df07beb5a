import { createHash, randomBytes } from "node:crypto";

/** A bearer token of 256 random bits, and its SHA-256 in hex for the gateway's config file. */
export function makeToken(): { readonly token: string; readonly sha256: string } {
  const token = randomBytes(32).toString("base64url");
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}
