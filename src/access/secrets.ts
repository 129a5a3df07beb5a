import { AccessRejected } from "./client.ts";
import { rememberTokens } from "./memory.ts";
import { createOidcVerifier, type OidcCredential } from "./oidc.ts";
import { andThen, type MaybePromise } from "./url-tokens.ts";

/** The length of a SHA-256 in words of 32 bits. */
const WORDS = 8;

/**
 * Secrets of one kind by their SHA-256, each with its holder. Several secrets may have one holder, for
 * rotation.
 */
export class SecretTable<Holder> {
  readonly #holders: readonly Holder[];
  readonly #words: Int32Array;

  /** @throws {RangeError} if a digest is not 64 hex digits */
  constructor(secrets: readonly (readonly [holder: Holder, digest: string])[]) {
    this.#holders = secrets.map(([holder]) => holder);
    this.#words = new Int32Array(secrets.length * WORDS);
    for (const [index, [, text]] of secrets.entries()) {
      const digest = parseDigest(text);
      if (digest === undefined) throw new RangeError("a secret needs a SHA-256 of 64 hex digits");
      this.#words.set(wordsOf(digest), index * WORDS);
    }
  }

  get size(): number {
    return this.#holders.length;
  }

  /**
   * The holder of the first secret with this digest. All are compared to their end, in the same time
   * whichever matches.
   */
  find(digest: Uint8Array): Holder | undefined {
    const words = wordsOf(digest);
    let found = -1;
    let at = 0;
    for (let index = 0; index < this.#holders.length; index++) {
      let difference = 0;
      for (let word = 0; word < WORDS; word++) difference |= words[word]! ^ this.#words[at++]!;
      // Without a branch: all ones if it matches; the first match stays.
      const fits = (difference === 0 ? -1 : 0) & (found >> 31);
      found = (fits & index) | (~fits & found);
    }
    return found === -1 ? undefined : this.#holders[found];
  }
}

function wordsOf(digest: Uint8Array): Int32Array {
  return new Int32Array(digest.slice().buffer, 0, WORDS);
}

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
const LONGEST_TOKEN = 16_384;

/**
 * The token of an Authorization field (RFC 6750 section 2.1); undefined if the field is absent or has no
 * bearer token.
 * @throws {AccessRejected} for a token that is too long
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const scheme = SCHEME.exec(authorization ?? "")?.[0];
  const token = scheme === undefined ? "" : authorization!.slice(scheme.length).trimEnd();
  if (token.length > LONGEST_TOKEN)
    throw new AccessRejected(
      "TOKEN_TOO_LONG",
      `the bearer token has ${token.length} characters, more than ${LONGEST_TOKEN}: let its issuer put fewer groups or roles into it`,
    );
  return TOKEN.test(token) ? token : undefined;
}

/**
 * Bearer tokens with their holders: secrets by their SHA-256, and tokens of issuers. Clients, clusters that
 * push, and secondaries have a table each, and passwords of clients one. A token is compared with every
 * secret, in a time that does not depend on the result.
 */
export class BearerTable<Holder> {
  readonly #sha256: Sha256;
  readonly #secrets: SecretTable<ReadonlySet<Holder>>;
  readonly #issued: ReturnType<typeof rememberTokens<Holder>> | undefined;

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
    if (oidc.length > 0) this.#issued = rememberTokens(createOidcVerifier(oidc, setting, clock), clock);
  }

  /** Whether no token expires. */
  get hasSecretsOnly(): boolean {
    return this.#issued === undefined;
  }

  /**
   * The holders of a token, in the order of the credentials; without a promise if nothing has to be fetched
   * or verified. Undefined for an unknown token.
   * @throws {AccessRejected} with the reason why an issuer's token is rejected
   */
  holdersOf(token: string): MaybePromise<ReadonlySet<Holder> | undefined> {
    return andThen(
      this.#sha256(new TextEncoder().encode(token)),
      (digest) => this.#secrets.find(digest) ?? this.#issued?.(token, digest),
    );
  }
}

const DIGEST = /^[0-9a-f]{64}$/i;

/** SHA-256; without a promise if the host can. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

/** SHA-256 by the Web Cryptography API, which every host has. */
export const sha256BySubtle: Sha256 = async (bytes) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** A SHA-256 in 64 hex digits; undefined for any other text. */
function parseDigest(hex: string): Uint8Array | undefined {
  if (!DIGEST.test(hex)) return undefined;
  return Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}

/** A name and a password, in Unicode Normalization Form C. */
interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

const BASIC = /^Basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?) *$/i;
const LONGEST_CREDENTIALS = 4096;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The name and password of an Authorization field (RFC 7617 section 2, in UTF-8 as section 2.1 has it).
 * Undefined for any other field, and for one that is not Base64 with padding (RFC 4648 section 4), not UTF-8,
 * without a colon, or with control characters.
 */
export function readBasicCredentials(authorization: string): BasicCredentials | undefined {
  const encoded = authorization.length <= LONGEST_CREDENTIALS ? BASIC.exec(authorization)?.[1] : undefined;
  if (encoded === undefined) return undefined;
  let text: string;
  try {
    text = utf8.decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
  const colon = text.indexOf(":");
  if (colon < 0 || hasControls(text)) return undefined;
  return {
    username: text.slice(0, colon).normalize("NFC"),
    password: text.slice(colon + 1).normalize("NFC"),
  };
}

/** Whether a text has a CTL of RFC 5234 appendix B.1. */
function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
