import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from "jose";
import { readBounded } from "../transfer/bounded-body.ts";
import { checkPublic, usableKeys } from "./public-keys.ts";

/** Keys that one issuer signs with. Issuers never share a source: a key id means nothing beyond its own. */
export interface KeySource {
  /**
   * The key that a token names.
   * @throws {JWKSNoMatchingKey} where there is none of that id
   * @throws {KeysUnavailable} where no keys could be had, or only some that are too old
   */
  key(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>;
}

/** No keys of an issuer are known. */
export class KeysUnavailable extends Error {}

/** Gets a JSON document: `fetch`, or what a host puts in its place for authorities and tokens of its own. */
export type FetchKeys = (
  url: string,
  request: {
    readonly signal: AbortSignal;
    readonly redirect: "manual";
    readonly headers: Record<string, string>;
  },
) => Promise<Response>;

/** Where keys are fetched from, and how. */
export interface RemoteKeysOptions {
  /** The key set, or with `discovery` the issuer (OpenID Connect Discovery 1.0 section 4). */
  readonly url: string;
  readonly discovery: boolean;
  /** Default: the host's. */
  readonly fetch?: FetchKeys;
  /** Is told when keys could not be fetched; those that are there stay in use. */
  readonly onFailure?: (url: string, error: unknown) => void;
}

// Times in milliseconds.
const TIMEOUT = 5000;
const MOST_BYTES = 256 * 1024;
/** Between two attempts, whatever key ids strangers make up. */
const LEAST_PAUSE = 30_000;
/** Keys are fetched again after this long. Verified tokens are remembered for another minute: a withdrawn key is out of use after 10 minutes. */
const REFRESH_AFTER = 540_000;
/** The longest that keys are used which could not be fetched again. */
const MOST_AGE = 86_400_000;

/**
 * Keys that are given.
 * @throws {JWKSInvalid} for what is no key set
 * @throws {PrivateKeyShown} naming the private part of a key
 */
export function inlineKeys(keys: unknown): KeySource {
  checkPublic(keys);
  return { key: createLocalJWKSet(usableKeys(keys)) };
}

/**
 * Keys behind a URL. jose decides when they are fetched; a `PatientFetch` decides what it gets.
 */
export function remoteKeys(options: RemoteKeysOptions): KeySource {
  const patient = new PatientFetch(options);
  const key = createRemoteJWKSet(new URL(options.url), {
    timeoutDuration: TIMEOUT,
    cooldownDuration: LEAST_PAUSE,
    cacheMaxAge: REFRESH_AFTER,
    [customFetch]: (_, { signal }) => patient.keys(signal),
  });
  return { key };
}

/**
 * Fetches a key set within bounds. While its URL cannot be reached, the last good one stays in use for a day, and the URL is tried every 30 seconds
 * at most.
 */
class PatientFetch {
  readonly #options: RemoteKeysOptions;
  #good: object | undefined;
  #goodAt = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
  }

  /** @throws {KeysUnavailable} where there is none that is young enough */
  async keys(signal: AbortSignal): Promise<Response> {
    const { url, discovery, onFailure } = this.#options;
    if (Date.now() - this.#failedAt >= LEAST_PAUSE)
      try {
        const found = await this.#get(discovery ? await this.#discover(url, signal) : url, signal);
        this.#good = usableKeys(found);
        this.#goodAt = Date.now();
      } catch (error) {
        this.#failedAt = Date.now();
        onFailure?.(url, error);
      }
    if (this.#good !== undefined && Date.now() - this.#goodAt <= MOST_AGE) return Response.json(this.#good);
    throw new KeysUnavailable("the issuer's keys could not be fetched");
  }

  /** OpenID Connect Discovery 1.0 section 4: the issuer in the document must be the one that was asked. */
  async #discover(issuer: string, signal: AbortSignal): Promise<string> {
    const place = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const found = (await this.#get(place, signal)) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    } | null;
    if (found?.issuer !== issuer) throw new Error(`${place} is of another issuer`);
    if (typeof found.jwks_uri !== "string" || !isKeysUrl(found.jwks_uri))
      throw new Error(`${place} has no jwks_uri with https`);
    return found.jwks_uri;
  }

  async #get(url: string, signal: AbortSignal): Promise<unknown> {
    const { fetch = globalThis.fetch } = this.#options;
    // A redirect could lead anywhere.
    const response = await fetch(url, {
      signal,
      redirect: "manual",
      headers: { accept: "application/jwk-set+json, application/json" },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`${url} answered ${response.status}${hint(response.status)}`);
    }
    return JSON.parse(new TextDecoder().decode(await readBounded(response, MOST_BYTES, url)));
  }
}

/** Whether keys may be fetched from there: over TLS, or from this machine. */
export function isKeysUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, hash } = new URL(text);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  return username === "" && hash === "" && (protocol === "https:" || (protocol === "http:" && isLocal));
}

function hint(status: number): string {
  return status === 401 || status === 403
    ? ": a Kubernetes API server shows its keys to members of system:service-account-issuer-discovery only; give the keys inline otherwise"
    : "";
}
