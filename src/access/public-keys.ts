import { errors, type JSONWebKeySet } from "jose";

/** Secret members of a JSON Web Key (RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1). */
const PRIVATE_PARTS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

/** The types of keys whose public part cannot sign. */
const KINDS: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);

/** A configured key set contains a private or shared key. The message repeats no value. */
export class PrivateKeyShown extends Error {}

/** The names of a key's private members. */
export function privatePartsOf(key: unknown): string[] {
  if (typeof key !== "object" || key === null) return [];
  return PRIVATE_PARTS.filter((part) => Object.hasOwn(key, part));
}

/** @throws {PrivateKeyShown} with the index of the first key with private parts */
export function checkPublic(value: unknown): void {
  for (const [index, key] of keysIn(value).entries()) {
    const parts = privatePartsOf(key);
    if (parts.length > 0) throw new PrivateKeyShown(`keys[${index}] ${describeParts(parts)}`);
  }
}

/** Explains the error of a key with private members, and the next step. */
export function describeParts(parts: readonly string[]): string {
  return `has ${parts.join(", ")}, of a private or shared key: use the public key only, and let the issuer make a new key, since this one is no longer secret`;
}

/**
 * The public keys of a set with which only the issuer can sign; other keys are left out.
 * @throws {errors.JWKSInvalid} if the value is not a key set
 */
export function usableKeys(value: unknown): JSONWebKeySet {
  const usable = (key: { readonly kty?: unknown } | null) =>
    KINDS.has(key?.kty) && privatePartsOf(key).length === 0;
  return { keys: keysIn(value).filter(usable) };
}

// biome-ignore lint/suspicious/noExplicitAny: unchecked input
function keysIn(value: unknown): any[] {
  const { keys } = (value ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new errors.JWKSInvalid("there is no key set");
  return keys;
}
