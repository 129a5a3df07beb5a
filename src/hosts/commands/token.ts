import { createHash, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { UsageError } from "../../config/values.ts";

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** A bearer token of 256 random bits, and its SHA-256 in hex for the gateway's config file. */
export function makeToken(): { readonly token: string; readonly sha256: string } {
  return withHash(randomBytes(32).toString("base64url"));
}

/**
 * A token of 160 random bits that is a DNS label (RFC 1035 section 2.3.1): lower-case base32 (RFC 4648
 * section 6), independent of case.
 */
export function makeHostNameToken(): { readonly token: string; readonly sha256: string } {
  // Five bits of each byte, all equally likely.
  return withHash(Array.from(randomBytes(32), (byte) => BASE32[byte & 31]).join(""));
}

/**
 * Writes a token into a new file that only its owner may read.
 * @throws {UsageError} if the file exists or cannot be made
 */
export async function writeToken(file: string, token: string): Promise<void> {
  await writeFile(file, `${token}\n`, { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      error.code === "EEXIST"
        ? `${file} exists, and may be in use: --out makes new files only`
        : `--out ${file}: the file cannot be made: ${error.message}`,
    );
  });
}

function withHash(token: string) {
  return { token, sha256: createHash("sha256").update(token).digest("hex") };
}
