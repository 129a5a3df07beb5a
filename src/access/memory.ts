import { decodeJwt } from "jose";
import { LRUCache } from "lru-cache";
import type { Client } from "./client.ts";
import type { VerifyToken } from "./oidc.ts";
import type { Admitted } from "./rule.ts";
import type { MaybePromise } from "./url-tokens.ts";

/** The most remembered tokens. */
const MOST_TOKENS = 10_000;
/**
 * The longest time that a token is remembered, in milliseconds. With the age of fetched keys this adds up to
 * the 10 minutes after which a withdrawn key is out of use.
 */
const LONGEST_TOKEN = 60_000;

/**
 * Remembers the holders of verified tokens until the tokens expire, since checking a signature costs more
 * than an answer. It keeps the SHA-256 of a token, not the token.
 * @param clock Unix milliseconds
 */
export function rememberTokens<Holder>(verify: VerifyToken<Holder>, clock: () => number) {
  const remembered = new LRUCache<string, { readonly holders: ReadonlySet<Holder>; readonly until: number }>({
    max: MOST_TOKENS,
  });

  const verifyAndRemember = async (token: string, key: string) => {
    const begun = clock();
    const holders = await verify(token);
    if (holders === undefined) return undefined;
    const expiry = (decodeJwt(token).exp ?? 0) * 1000;
    remembered.set(key, { holders, until: Math.min(expiry, begun + LONGEST_TOKEN) });
    return holders;
  };

  /**
   * @param digest the token's SHA-256
   * @returns the holders of the token; without a promise if it is remembered. Undefined if the text is not a
   * JSON Web Token
   * @throws {AccessRejected} with the reason why the token is rejected
   */
  return (token: string, digest: Uint8Array): MaybePromise<ReadonlySet<Holder> | undefined> => {
    const key = String.fromCharCode(...digest);
    const known = remembered.get(key);
    if (known !== undefined && clock() < known.until) return known.holders;
    remembered.delete(key);
    return verifyAndRemember(token, key);
  };
}

/** The longest Authorization field that is remembered, in characters. */
const LONGEST_CREDENTIALS = 512;

/**
 * Remembers the Authorization field that each connection was admitted by last, since hashing its secret again
 * for every request costs more than the answer. A connection's HPACK table has the field anyway.
 */
export class CredentialMemory {
  readonly #last = new WeakMap<
    Partial<Client>,
    { readonly authorization: string; readonly admitted: Admitted }
  >();

  /** In a time that does not depend on where the texts differ. */
  find(client: Partial<Client> | undefined, authorization: string): Admitted | undefined {
    if (client?.isOfConnection !== true) return undefined;
    const last = this.#last.get(client);
    return last !== undefined && isSame(last.authorization, authorization) ? last.admitted : undefined;
  }

  keep(client: Partial<Client> | undefined, authorization: string, admitted: Admitted): void {
    if (client?.isOfConnection === true && authorization.length <= LONGEST_CREDENTIALS)
      this.#last.set(client, { authorization, admitted });
  }
}

function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index++)
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}
