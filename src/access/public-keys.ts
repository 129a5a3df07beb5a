import { errors, type JSONWebKeySet } from "jose";

/** Members of a JSON Web Key that only its owner may know (RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1). */
const PRIVATE_PARTS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

/** Kinds of keys whose public part cannot sign. */
const KINDS: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);

/** A key set that was given has something in it with which anybody can sign. The message repeats no value. */
export class PrivateKeyShown extends Error {}

/** The private members that a key has. */
export function privatePartsOf(key: unknown): string[] {
  if (typeof key !== "object" || key === null) return [];
  return PRIVATE_PARTS.filter((part) => Object.hasOwn(key, part));
}

/** @throws {PrivateKeyShown} naming the first key with private parts */
export function checkPublic(value: unknown): void {
  for (const [index, key] of keysIn(value).entries()) {
    const parts = privatePartsOf(key);
    if (parts.length > 0) throw new PrivateKeyShown(`keys[${index}] ${describeParts(parts)}`);
  }
}

/** What is wrong with a key that has private members, and what to do. */
export function describeParts(parts: readonly string[]): string {
  return `has ${parts.join(", ")}, of a private or shared key: take the public key alone, and let the issuer make a new one, since this one was shown`;
}

/**
 * Keys that others may know, of kinds that only the issuer can sign with: what else is in the set is left out.
 * @throws {errors.JWKSInvalid} for what is no key set
 */
export function usableKeys(value: unknown): JSONWebKeySet {
  const usable = (key: { readonly kty?: unknown } | null) =>
    KINDS.has(key?.kty) && privatePartsOf(key).length === 0;
  return { keys: keysIn(value).filter(usable) };
}

// biome-ignore lint/suspicious/noExplicitAny: whatever somebody put there
function keysIn(value: unknown): any[] {
  const { keys } = (value ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new errors.JWKSInvalid("there is no key set");
  return keys;
}
