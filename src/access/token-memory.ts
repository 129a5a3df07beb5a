import { decodeJwt } from "jose";
import { LRUCache } from "lru-cache";
import type { OidcVerifier } from "./oidc.ts";

/** The most remembered tokens. */
const MOST_TOKENS = 10_000;
/** The longest time that a token is remembered, in milliseconds. With the age of fetched keys this adds up to the 10 minutes after which a withdrawn key is out of use. */
const LONGEST = 60_000;

/**
 * Remembers the holders of verified tokens until the tokens expire, since checking a signature costs more than an answer. It keeps the SHA-256 of a
 * token, not the token.
 */
export class TokenMemory<Holder> {
  readonly #verifier: OidcVerifier<Holder>;
  readonly #clock: () => number;
  readonly #known = new LRUCache<string, { readonly holders: ReadonlySet<Holder>; readonly until: number }>({
    max: MOST_TOKENS,
  });

  /** @param clock Unix milliseconds */
  constructor(verifier: OidcVerifier<Holder>, clock: () => number) {
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /**
   * @param digest the token's SHA-256
   * @returns the holders of the token; without a promise if it is remembered. Undefined if the text is not a JSON Web Token
   * @throws {AccessRejected} with the reason why the token is rejected
   */
  holdersOf(
    token: string,
    digest: Uint8Array,
  ): ReadonlySet<Holder> | Promise<ReadonlySet<Holder> | undefined> {
    const key = String.fromCharCode(...digest);
    const known = this.#known.get(key);
    if (known !== undefined && this.#clock() < known.until) return known.holders;
    this.#known.delete(key);
    return this.#verify(token, key);
  }

  async #verify(token: string, key: string): Promise<ReadonlySet<Holder> | undefined> {
    const begun = this.#clock();
    const holders = await this.#verifier.holdersOf(token);
    if (holders === undefined) return undefined;
    const expiry = (decodeJwt(token).exp ?? 0) * 1000;
    this.#known.set(key, { holders, until: Math.min(expiry, begun + LONGEST) });
    return holders;
  }
}
