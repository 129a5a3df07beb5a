import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import { isLoopbackHost } from "../dns/address.ts";
import { readBounded } from "../transfer/http-source.ts";
import { AccessRejected, type AccessRejection } from "./client.ts";

/** Tokens of an issuer that identify a holder (OpenID Connect Core 1.0 section 3.1.3.7). */
export interface OidcCredential<Holder> {
  /** A cluster that pushes, or the access rule of a client. */
  readonly holder: Holder;
  /** The exact value of the claim `iss`. */
  readonly issuer: string;
  /** A value that the claim `aud` contains. */
  readonly audience: string;
  /** The exact values of the claim `sub` that count. Absent: all. */
  readonly subjects?: readonly string[] | undefined;
  /** Other claims: each must have, or contain, one of its values. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly keys: KeySource;
}

/**
 * Verifies tokens and finds their holders.
 * @returns the holders, in the order of the credentials; undefined if the text is not a JSON Web Token
 * @throws {AccessRejected} with the reason why the token is rejected
 */
export type VerifyToken<Holder> = (token: string) => Promise<ReadonlySet<Holder> | undefined>;

/** Signatures by a private key only; `none` and HMAC are rejected, whatever a token's header names. */
const ALGORITHMS: NonNullable<JWTVerifyOptions["algorithms"]> = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** The largest difference of the clocks, in seconds. */
const CLOCK_TOLERANCE = 30;
const MOST_SHOWN = 200;
/**
 * The most keys that one token is verified by. More than one matters only where issuers of one name also give
 * keys one id; Kubernetes does not.
 */
const MOST_KEYS = 4;

/**
 * A verifier of tokens. Clusters often share an issuer's name and the subject, and differ in their keys only.
 * Therefore a token is verified by the keys that have its key id (`kid`), however many credentials its issuer
 * has, and the claims are compared afterwards.
 * @param setting the setting that has the credentials, for messages
 * @param clock Unix milliseconds
 */
export function createOidcVerifier<Holder>(
  credentials: readonly OidcCredential<Holder>[],
  setting: string,
  clock: () => number = Date.now,
): VerifyToken<Holder> {
  return async (token) => {
    const issuer = readIssuer(token);
    if (issuer === undefined) return undefined;
    const holders = new Set<Holder>();
    let refused = new AccessRejected(
      "UNKNOWN_ISSUER",
      `no credential is for the token's issuer ${show(issuer)}: add it to the gateway's ${setting}`,
    );
    const known = credentials.filter((one) => one.issuer === issuer);
    if (known.length === 0) throw refused;
    const payloadBy = await verifyByKeys(token, issuer, known, new Date(clock()));
    let last: unknown;
    for (const [index, credential] of known.entries())
      try {
        checkClaims(await payloadBy(index), credential, setting);
        holders.add(credential.holder);
      } catch (error) {
        // Credentials with one reason share one error.
        if (error === last) continue;
        last = error;
        const refusal = explain(error, setting);
        if (CHECK_ORDER.indexOf(refusal.code) >= CHECK_ORDER.indexOf(refused.code)) refused = refusal;
      }
    if (holders.size === 0) throw refused;
    return holders;
  };
}

/** The issuer that an unverified token names; undefined if it is not a JSON Web Token. */
function readIssuer(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === "string" ? iss : "";
  } catch {
    return undefined;
  }
}

/**
 * Verifies a token once by each different key that may have signed it, and by `MOST_KEYS` at most.
 * @param known the credentials of the issuer
 * @returns a function that returns the payload by the key of a credential, or throws why there is none
 */
async function verifyByKeys(
  token: string,
  issuer: string,
  known: readonly OidcCredential<unknown>[],
  currentDate: Date,
): Promise<(index: number) => Promise<JWTPayload>> {
  const header = readHeader(token);
  const ids = new Set<string>();
  const lookups = known.map(async ({ keys }) => {
    const key = await keys.key(await header, { payload: "", signature: "" });
    const id = keyIds.get(key) ?? JSON.stringify(await crypto.subtle.exportKey("jwk", key));
    keyIds.set(key, id);
    ids.add(id);
    return { id, key };
  });
  await Promise.allSettled(lookups);
  const payloads = new Map<string, Promise<JWTPayload>>();

  const verify = async (key: CryptoKey) => {
    const { payload } = await jwtVerify(token, key, {
      issuer,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE,
      requiredClaims: ["exp", "sub"],
      currentDate,
    });
    return payload;
  };

  return async (index) => {
    const { id, key } = await lookups[index]!;
    if (ids.size > 1 && typeof (await header).kid !== "string") throw SEVERAL_KEYS;
    if (!payloads.has(id) && payloads.size === MOST_KEYS)
      throw new AccessRejected("UNKNOWN_KEY", "too many keys of the issuer have the token's key id (kid)");
    const payload = payloads.get(id) ?? verify(key);
    payloads.set(id, payload);
    return payload;
  };
}

/** The header of an unverified token, which jose has checked. @throws {JOSEError} */
function readHeader(token: string): Promise<JWSHeaderParameters> {
  return new Promise((resolve, reject) => {
    const stop = (header: JWSHeaderParameters) => {
      resolve(header);
      throw new errors.JOSEError();
    };
    jwtVerify(token, stop, { algorithms: ALGORITHMS }).catch(reject);
  });
}

// An error with its stack for each credential would cost more than the rest.
const NO_KEY = new errors.JWKSNoMatchingKey();
const SEVERAL_KEYS = new errors.JWKSMultipleMatchingKeys();

/** The text of each key, which is equal for equal keys of different sources. */
const keyIds = new WeakMap<CryptoKey, string>();

/** @throws {AccessRejected} if the payload of a verified token does not match the credential */
function checkClaims(
  payload: JWTPayload,
  { audience, subjects, claims = {} }: OidcCredential<unknown>,
  setting: string,
): void {
  if (!valuesOf(payload, "aud").includes(audience))
    throw new AccessRejected(
      "WRONG_AUDIENCE",
      `the token is for ${show(payload.aud)}, and must be for ${show(audience)}: get one for that audience (in Kubernetes: set it in the projected volume)`,
    );
  if (subjects?.includes(payload.sub ?? "") === false)
    throw new AccessRejected(
      "UNKNOWN_SUBJECT",
      `the token's subject is ${show(payload.sub)}, which ${setting}[].oidc.subject does not name`,
    );
  for (const [claim, wanted] of Object.entries(claims))
    if (!valuesOf(payload, claim).some((value) => wanted.includes(value)))
      throw new AccessRejected(
        "UNKNOWN_SUBJECT",
        `the token's claim ${show(claim)} has none of the values in ${setting}[].oidc.claims`,
      );
}

/** The texts of a claim, which is a text or a list of them; empty for anything else. */
function valuesOf(payload: JWTPayload, claim: string): readonly string[] {
  const value: unknown = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  return [value].flat().filter((one) => typeof one === "string");
}

/**
 * Reasons in the order of the checks. If no credential fits, the client gets the reason of the one that
 * passed most checks.
 */
const CHECK_ORDER: readonly AccessRejection[] = [
  "UNKNOWN_ISSUER",
  "UNKNOWN_KEY",
  "KEYS_UNAVAILABLE",
  "TOKEN_REFUSED",
  "TOKEN_EXPIRED",
  "WRONG_AUDIENCE",
  "UNKNOWN_SUBJECT",
];

function explain(error: unknown, setting: string): AccessRejected {
  if (error instanceof AccessRejected) return error;
  if (error instanceof KeysUnavailable)
    return new AccessRejected(
      "KEYS_UNAVAILABLE",
      `${error.message}: try again later; the gateway's log says why`,
    );
  if (error instanceof errors.JWTExpired)
    return new AccessRejected("TOKEN_EXPIRED", `the token expired${expiry(error.payload)}: send a new one`);
  if (error instanceof errors.JWTClaimValidationFailed)
    return new AccessRejected(
      "TOKEN_REFUSED",
      error.reason === "missing"
        ? `the token lacks the claim ${error.claim}`
        : `the token's claim ${error.claim} makes it invalid, now or always`,
    );
  if (error instanceof errors.JWKSNoMatchingKey)
    return new AccessRejected(
      "UNKNOWN_KEY",
      `no key of the issuer matches the token: is the token from that issuer, and does ${setting}[].oidc have its newest keys?`,
    );
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return new AccessRejected("UNKNOWN_KEY", "the token names no key (kid), and the issuer has several");
  if (error instanceof errors.JOSEAlgNotAllowed)
    return new AccessRejected(
      "TOKEN_REFUSED",
      `the token's signature algorithm is not one of ${ALGORITHMS.join(", ")}`,
    );
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new AccessRejected("UNKNOWN_KEY", "the issuer's key did not make the token's signature");
  if (error instanceof errors.JOSEError)
    return new AccessRejected("TOKEN_REFUSED", "the token is not a readable signed JSON Web Token");
  return new AccessRejected("KEYS_UNAVAILABLE", "the issuer's key cannot be used: fix its key set");
}

function expiry({ exp }: JWTPayload): string {
  const at = typeof exp === "number" ? new Date(exp * 1000) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? "" : ` at ${at.toISOString()}`;
}

/** A value from a token in a message: quoted, with a bounded length. */
function show(value: unknown): string {
  return JSON.stringify(value ?? "").slice(0, MOST_SHOWN);
}

/**
 * Keys that one issuer signs with. Issuers never share a source, since two issuers may use the same key id.
 */
export interface KeySource {
  /**
   * The key with the id in a token's header.
   * @throws {JWKSNoMatchingKey} if no key has that id
   * @throws {KeysUnavailable} if the keys could not be fetched, or are too old
   */
  key(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>;
}

/** No keys of an issuer are known. */
class KeysUnavailable extends Error {}

/**
 * Fetches a JSON document: `fetch`, or the host's own function with its certificate authorities and token.
 */
export type FetchKeys = (
  url: string,
  request: {
    readonly signal: AbortSignal;
    readonly redirect: "manual";
    readonly headers: Record<string, string>;
  },
) => Promise<Response>;

/** Where keys are fetched from, and how. */
interface RemoteKeysOptions {
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
/**
 * Keys are fetched again after this long. Verified tokens are remembered for another minute: a withdrawn key
 * is out of use after 10 minutes.
 */
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
  const usable = usableKeys(keys);
  const find = createLocalJWKSet(usable);
  const ids = new Set(usable.keys.map(({ kid }) => kid));
  return {
    key: async (header, token) => {
      if (typeof header.kid === "string" && !ids.has(header.kid)) throw NO_KEY;
      return find(header, token);
    },
  };
}

/** Keys behind a URL. jose decides when to fetch them; `patientFetch` decides what it gets. */
export function remoteKeys(options: RemoteKeysOptions): KeySource {
  const keys = patientFetch(options);
  const key = createRemoteJWKSet(new URL(options.url), {
    timeoutDuration: TIMEOUT,
    cooldownDuration: LEAST_PAUSE,
    cacheMaxAge: REFRESH_AFTER,
    [customFetch]: (_, { signal }) => keys(signal),
  });
  return { key };
}

/**
 * Fetches a key set with limits on size and time. While the URL fails, the last good key set stays in use for
 * a day, and the URL is tried every 30 seconds at most.
 */
function patientFetch({ url, discovery, onFailure, fetch = globalThis.fetch }: RemoteKeysOptions) {
  let good: object | undefined;
  let goodAt = 0;
  let failedAt = Number.NEGATIVE_INFINITY;

  /** @throws {KeysUnavailable} if no key set is young enough */
  return async (signal: AbortSignal): Promise<Response> => {
    if (Date.now() - failedAt >= LEAST_PAUSE)
      try {
        const place = discovery ? await discover(fetch, url, signal) : url;
        good = usableKeys(await fetchJson(fetch, place, signal));
        goodAt = Date.now();
      } catch (error) {
        failedAt = Date.now();
        onFailure?.(url, error);
      }
    if (good !== undefined && Date.now() - goodAt <= MOST_AGE) return Response.json(good);
    throw new KeysUnavailable("the issuer's keys could not be fetched");
  };
}

/** OpenID Connect Discovery 1.0 section 4: the issuer in the document must be the configured one. */
async function discover(fetch: FetchKeys, issuer: string, signal: AbortSignal): Promise<string> {
  const place = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const found = (await fetchJson(fetch, place, signal)) as Readonly<Record<string, unknown>> | null;
  if (found?.issuer !== issuer) throw new Error(`${place} is of another issuer`);
  if (typeof found.jwks_uri !== "string" || !isKeysUrl(found.jwks_uri))
    throw new Error(`${place} has no jwks_uri with https`);
  return found.jwks_uri;
}

async function fetchJson(fetch: FetchKeys, url: string, signal: AbortSignal): Promise<unknown> {
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
function checkPublic(value: unknown): void {
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
function usableKeys(value: unknown): JSONWebKeySet {
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
