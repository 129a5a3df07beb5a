import { bytesOf, hexOf } from "../database/places.ts";

/**
 * The field of a request for a state with a number that was never used before: the signature of the response
 * covers it.
 */
export const NONCE_FIELD = "clusterset-nonce";
/** The field of a response with its signature. */
export const SIGNATURE_FIELD = "clusterset-signature";
/** Characters that a key has at least. `clusterset-doh token` makes 43. */
export const LEAST_KEY_CHARACTERS = 32;

const NONCE = /^[0-9a-f]{32}$/;
const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const encoder = new TextEncoder();

/** `CryptoKey`, which not all hosts' types name. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * What is signed: a state, with the nonce of the request and the scope as `visibilityKey` has it; or a part,
 * see `partPath`.
 */
export type Signed =
  | readonly [kind: "state", nonce: string, scope: string]
  | readonly [kind: "part", path: string];

/** A response of the primary whose signature is missing or wrong. */
class SignatureError extends Error {
  readonly code = "BAD_SIGNATURE";
}

/** The keys that a primary and its secondaries share (docs/reference/transfer.md, Signatures). */
export class TransferKeys {
  readonly #keys: Promise<readonly HmacKey[]>;

  /**
   * @param secrets the first one signs; all of them verify, so that a secondary may have the next one before
   * the primary has
   */
  constructor(secrets: readonly string[]) {
    this.#keys = Promise.all(
      secrets.map((secret) =>
        crypto.subtle.importKey("raw", encoder.encode(secret), HMAC, false, ["sign", "verify"]),
      ),
    );
    this.#keys.catch(() => {});
  }

  /** The signature of a body, in hex. */
  async sign(signed: Signed, body: Uint8Array<ArrayBuffer>): Promise<string> {
    const [key] = await this.#keys;
    return hexOf(new Uint8Array(await crypto.subtle.sign(HMAC, key!, await messageOf(signed, body))));
  }

  /**
   * Compares in constant time (Web Cryptography, HMAC, "verify").
   * @throws {SignatureError} where `signature` is of none of the keys, or of something else
   */
  async verify(signature: string | null, signed: Signed, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const [kind] = signed;
    if (signature === null)
      throw new SignatureError(`the primary does not sign its ${kind}: give it transfer.keyFile`);
    const bytes = fromHex(signature);
    const message = await messageOf(signed, body);
    for (const key of await this.#keys) if (await crypto.subtle.verify(HMAC, key, bytes, message)) return;
    throw new SignatureError(
      `the signature of the primary's ${kind} is wrong: it has another key, or somebody changed it`,
    );
  }
}

/** A nonce. */
export function newNonce(): string {
  return hexOf(crypto.getRandomValues(new Uint8Array(16)));
}

/** The nonce that a request has; undefined for none, or one that is none. */
export function nonceOf(field: string | undefined): string | undefined {
  return field !== undefined && NONCE.test(field) ? field : undefined;
}

/** What is signed: what the body is, and its SHA-256. */
async function messageOf(signed: Signed, body: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const digest = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", body)));
  return encoder.encode(JSON.stringify(["clusterset-doh transfer", ...signed, digest]));
}

/** Empty for what is no signature. */
function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return /^[0-9a-f]{64}$/.test(text) ? bytesOf(text) : new Uint8Array(0);
}
