import { AccessRejected } from "./access-rejected.ts";
import { type Sha256, sha256BySubtle } from "./digests.ts";
import { andThen, type MaybePromise } from "./maybe-promise.ts";
import { createOidcVerifier, type OidcCredential } from "./oidc.ts";
import { SecretTable } from "./secret-table.ts";
import { TokenMemory } from "./token-memory.ts";

/** A bearer secret and its holder. Several secrets may have one holder, for rotation. */
export interface BearerSecret<Holder> {
  readonly holder: Holder;
  /** SHA-256 of the token (UTF-8), 64 hex digits. */
  readonly tokenSha256: string;
}

/** The contents of a table of bearer tokens. */
export interface BearerTableSettings<Holder> {
  readonly secrets?: readonly BearerSecret<Holder>[];
  readonly oidc?: readonly OidcCredential<Holder>[];
  /** The setting that has the credentials, for messages. */
  readonly setting: string;
  /** Default: that of `crypto.subtle`. */
  readonly sha256?: Sha256;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}

const SCHEME = /^Bearer(?: +|$)/i;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** The longest token, in characters: one with the groups of a large directory fits. */
const LONGEST = 16_384;

/**
 * The token of an Authorization field (RFC 6750 section 2.1); undefined if the field is absent or has no bearer token.
 * @throws {AccessRejected} for a token that is too long
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const scheme = SCHEME.exec(authorization ?? "")?.[0];
  const token = scheme === undefined ? "" : authorization!.slice(scheme.length).trimEnd();
  if (token.length > LONGEST)
    throw new AccessRejected(
      "TOKEN_TOO_LONG",
      `the bearer token has ${token.length} characters, more than ${LONGEST}: let its issuer put fewer groups or roles into it`,
    );
  return TOKEN.test(token) ? token : undefined;
}

/**
 * Bearer tokens with their holders: secrets by their SHA-256, and tokens of issuers. Clients, clusters that push, and secondaries have
 * a table each. A token is compared with every secret, in a time that does not depend on the result.
 */
export class BearerTable<Holder> {
  readonly #sha256: Sha256;
  readonly #secrets: SecretTable<ReadonlySet<Holder>>;
  readonly #issued: TokenMemory<Holder> | undefined;

  /** @throws {RangeError} if a `tokenSha256` is not 64 hex digits */
  constructor(settings: BearerTableSettings<Holder>) {
    const { secrets = [], oidc = [], setting, sha256 = sha256BySubtle, clock = Date.now } = settings;
    this.#sha256 = sha256;
    const holders = new Map<string, Set<Holder>>();
    for (const { holder, tokenSha256 } of secrets) {
      const key = tokenSha256.toLowerCase();
      holders.set(key, (holders.get(key) ?? new Set()).add(holder));
    }
    this.#secrets = new SecretTable([...holders].map(([digest, all]) => [all, digest]));
    if (oidc.length > 0) this.#issued = new TokenMemory(createOidcVerifier(oidc, setting, clock), clock);
  }

  /** Whether no token expires. */
  get hasSecretsOnly(): boolean {
    return this.#issued === undefined;
  }

  /**
   * The holders of a token, in the order of the credentials; without a promise if nothing has to be fetched or verified. Undefined for an unknown token.
   * @throws {AccessRejected} with the reason why an issuer's token is rejected
   */
  holdersOf(token: string): MaybePromise<ReadonlySet<Holder> | undefined> {
    return andThen(
      this.#sha256(new TextEncoder().encode(token)),
      (digest) => this.#secrets.find(digest) ?? this.#issued?.holdersOf(token, digest),
    );
  }
}
