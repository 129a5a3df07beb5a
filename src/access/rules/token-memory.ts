import { decodeJwt } from "jose";
import { LRUCache } from "lru-cache";
import type { OidcVerifier } from "../oidc.ts";

/** How many tokens are remembered. */
const MOST_TOKENS = 10_000;
/** For how long at most, in milliseconds: the keys of issuers are looked at again as often, so that one that was withdrawn goes. */
const LONGEST = 600_000;

/**
 * Remembers whom tokens that verified are of, until they expire: a signature costs more than an answer. Tokens themselves are not
 * kept, only their SHA-256.
 */
export class TokenMemory<Holder extends object> {
  readonly #verifier: OidcVerifier<Holder>;
  readonly #clock: () => number;
  readonly #known = new LRUCache<string, { readonly holder: Holder; readonly until: number }>({
    max: MOST_TOKENS,
  });

  /** @param clock Unix milliseconds */
  constructor(verifier: OidcVerifier<Holder>, clock: () => number) {
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /**
   * @param digest its SHA-256
   * @returns whom a token is of; at once where it is remembered. Undefined for what is no JSON Web Token
   * @throws {AccessRefused} saying what is wrong with it
   */
  holderOf(token: string, digest: Uint8Array): Holder | Promise<Holder | undefined> {
    const key = String.fromCharCode(...digest);
    const known = this.#known.get(key);
    if (known !== undefined && this.#clock() < known.until) return known.holder;
    this.#known.delete(key);
    return this.#verify(token, key);
  }

  async #verify(token: string, key: string): Promise<Holder | undefined> {
    const begun = this.#clock();
    const holders = await this.#verifier.holdersOf(token);
    const [holder] = holders ?? [];
    if (holder === undefined) return undefined;
    const expiry = (decodeJwt(token).exp ?? 0) * 1000;
    this.#known.set(key, { holder, until: Math.min(expiry, begun + LONGEST) });
    return holder;
  }
}
