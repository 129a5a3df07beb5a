import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
} from "jose";
import { readBounded } from "../transfer/bounded-body.ts";

/** Keys that one issuer signs with. Issuers never share a source: a key id means nothing beyond its own. */
export interface KeySource {
  /**
   * The key that a token names.
   * @throws {errors.JWKSNoMatchingKey} where there is none of that id
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

/** Where keys are fetched from, and how. Times in milliseconds. */
export interface RemoteKeysOptions {
  /** The key set, or with `discovery` the issuer (OpenID Connect Discovery 1.0 section 4). */
  readonly url: string;
  readonly discovery: boolean;
  /** Default: the host's. */
  readonly fetch?: FetchKeys;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
  /** Is told when keys could not be fetched; those that are there stay in use. */
  readonly onFailure?: (url: string, error: unknown) => void;
}

const KINDS: ReadonlySet<unknown> = new Set(["RSA", "EC", "OKP"]);
const TIMEOUT = 5000;
const MOST_BYTES = 256 * 1024;
/** Between two attempts, whatever key ids strangers make up. */
const LEAST_PAUSE = 30_000;
/** Keys are fetched again after this long, so that one that was withdrawn goes. */
const REFRESH_AFTER = 600_000;
/** The longest that keys are used which could not be fetched again. */
const MOST_AGE = 86_400_000;

/** Keys that are given. @throws {errors.JWKSInvalid} */
export function inlineKeys(keys: { readonly keys: readonly object[] }): KeySource {
  return { key: createLocalJWKSet(publicKeys(keys)) };
}

/**
 * Keys behind a URL. An unknown key id has them fetched again, at most every 30 seconds; while the URL cannot be reached
 * the last good ones stay in use for a day.
 */
export class RemoteKeys implements KeySource {
  readonly #options: RemoteKeysOptions;
  readonly #clock: () => number;
  #current: ReturnType<typeof createLocalJWKSet> | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<boolean> | undefined;

  constructor(options: RemoteKeysOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  async key(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    if (this.#age() > REFRESH_AFTER) await this.#load();
    const keys = this.#usable();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await this.#load())) throw error;
      return this.#usable()(header, token);
    }
  }

  #age(): number {
    return this.#clock() - this.#fetchedAt;
  }

  #usable(): ReturnType<typeof createLocalJWKSet> {
    if (this.#current !== undefined && this.#age() <= MOST_AGE) return this.#current;
    throw new KeysUnavailable("the issuer's keys could not be fetched");
  }

  /** Fetches, unless that was tried just now. @returns whether there are newer keys than before */
  #load(): Promise<boolean> {
    if (this.#loading !== undefined) return this.#loading;
    if (this.#clock() - this.#triedAt < LEAST_PAUSE) return Promise.resolve(false);
    this.#triedAt = this.#clock();
    this.#loading = this.#fetchKeys().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #fetchKeys(): Promise<boolean> {
    const { url, discovery, onFailure } = this.#options;
    try {
      const signal = AbortSignal.timeout(TIMEOUT);
      const keys = await this.#get(discovery ? await this.#discover(url, signal) : url, signal);
      this.#current = createLocalJWKSet(publicKeys(keys));
      this.#fetchedAt = this.#clock();
      return true;
    } catch (error) {
      onFailure?.(url, error);
      return false;
    }
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

/** Keys that others may know, of kinds that only the issuer can sign with: what else is in the set is left out. */
function publicKeys(value: unknown): JSONWebKeySet {
  const { keys } = (value ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new errors.JWKSInvalid("there is no key set");
  return { keys: keys.filter((key) => KINDS.has(key?.kty) && key.d === undefined) };
}

function hint(status: number): string {
  return status === 401 || status === 403
    ? ": a Kubernetes API server shows its keys to members of system:service-account-issuer-discovery only; give the keys inline otherwise"
    : "";
}
