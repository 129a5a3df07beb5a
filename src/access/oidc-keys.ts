import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from "jose";
import { isLoopbackHost } from "../dns/address.ts";
import { readBounded } from "../transfer/bounded-body.ts";
import { checkPublic, usableKeys } from "./public-keys.ts";

/** Keys that one issuer signs with. Issuers never share a source, since two issuers may use the same key id. */
export interface KeySource {
  /**
   * The key with the id in a token's header.
   * @throws {JWKSNoMatchingKey} if no key has that id
   * @throws {KeysUnavailable} if the keys could not be fetched, or are too old
   */
  key(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>;
}

/** No keys of an issuer are known. */
export class KeysUnavailable extends Error {}

/** Fetches a JSON document: `fetch`, or the host's own function with its certificate authorities and token. */
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
  /** Called when keys could not be fetched; the last good ones stay in use. */
  readonly onFailure?: (url: string, error: unknown) => void;
}

// Times in milliseconds.
const TIMEOUT = 5000;
const MOST_BYTES = 256 * 1024;
/** The shortest pause between two attempts, however many unknown key ids arrive. */
const LEAST_PAUSE = 30_000;
/** Keys are fetched again after this long. Verified tokens are remembered for another minute: a withdrawn key is out of use after 10 minutes. */
const REFRESH_AFTER = 540_000;
/** The longest use of keys that could not be fetched again. */
const MOST_AGE = 86_400_000;

/**
 * Keys from the configuration.
 * @throws {JWKSInvalid} if the value is not a key set
 * @throws {PrivateKeyShown} with the name of a key's private part
 */
export function inlineKeys(keys: unknown): KeySource {
  checkPublic(keys);
  return { key: createLocalJWKSet(usableKeys(keys)) };
}

/**
 * Keys behind a URL. jose decides when to fetch them; `PatientFetch` decides what it gets.
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
 * Fetches a key set with limits on size and time. While the URL fails, the last good key set stays in use for a day, and the URL is
 * tried every 30 seconds at most.
 */
class PatientFetch {
  readonly #options: RemoteKeysOptions;
  #good: object | undefined;
  #goodAt = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
  }

  /** @throws {KeysUnavailable} if no key set is young enough */
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

  /** OpenID Connect Discovery 1.0 section 4: the issuer in the document must be the configured one. */
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
    // A redirect could point anywhere.
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

/** Whether keys may be fetched from a URL: over TLS, or from this machine. */
export function isKeysUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, hash } = new URL(text);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
  return isSafe && username === "" && hash === "";
}

function hint(status: number): string {
  return status === 401 || status === 403
    ? ": a Kubernetes API server shows its keys to members of system:service-account-issuer-discovery only; give the keys inline otherwise"
    : "";
}
