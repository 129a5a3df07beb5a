import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import { AccessRejected, type AccessRejection } from "./access-rejected.ts";
import { type KeySource, KeysUnavailable } from "./oidc-keys.ts";

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

/** Verifies tokens and finds their holders. */
export interface OidcVerifier<Holder> {
  /**
   * @returns the holders, in the order of the credentials; undefined if the text is not a JSON Web Token
   * @throws {AccessRejected} with the reason why the token is rejected
   */
  holdersOf(token: string): Promise<ReadonlySet<Holder> | undefined>;
}

/** Signatures by a private key only; `none` and HMAC are rejected, whatever a token's header names. */
const ALGORITHMS = [
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
] satisfies Parameters<typeof jwtVerify>[2] extends infer Options | undefined
  ? Options extends { algorithms?: infer List }
    ? List
    : never
  : never;
/** The largest difference of the clocks, in seconds. */
const CLOCK_TOLERANCE = 30;
const MOST_SHOWN = 200;

/**
 * A verifier of tokens. Clusters often share an issuer's name and the subject, and differ in their keys only. Therefore each
 * credential is tried with its own keys.
 * @param setting the setting that has the credentials, for messages
 * @param clock Unix milliseconds
 */
export function createOidcVerifier<Holder>(
  credentials: readonly OidcCredential<Holder>[],
  setting: string,
  clock: () => number = Date.now,
): OidcVerifier<Holder> {
  return {
    async holdersOf(token) {
      const issuer = readIssuer(token);
      if (issuer === undefined) return undefined;
      const candidates = credentials.filter((credential) => credential.issuer === issuer);
      const holders = new Set<Holder>();
      let refused = new AccessRejected(
        "UNKNOWN_ISSUER",
        `no credential is for the token's issuer ${show(issuer)}: add it to the gateway's ${setting}`,
      );
      for (const credential of candidates)
        try {
          await verify(token, credential, setting, new Date(clock()));
          holders.add(credential.holder);
        } catch (error) {
          const refusal = explain(error, credential, setting);
          if (RANK[refusal.code] >= RANK[refused.code]) refused = refusal;
        }
      if (holders.size === 0) throw refused;
      return holders;
    },
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

/** @throws {Error} if the token does not match the credential */
async function verify(
  token: string,
  { issuer, audience, subjects, claims = {}, keys }: OidcCredential<unknown>,
  setting: string,
  currentDate: Date,
): Promise<void> {
  const { payload } = await jwtVerify(token, (header, jws) => keys.key(header, jws), {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ["exp", "sub"],
    currentDate,
  });
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

/** If several credentials were tried, the client gets the rejection with the highest rank: the one that came furthest. */
const RANK: Readonly<Record<AccessRejection, number>> = {
  TOKEN_REQUIRED: 0,
  TOKEN_TOO_LONG: 0,
  UNKNOWN_TOKEN: 0,
  CERTIFICATE_REFUSED: 0,
  UNKNOWN_CERTIFICATE: 0,
  OTHER_CLUSTER: 0,
  UNKNOWN_ISSUER: 0,
  UNKNOWN_KEY: 1,
  KEYS_UNAVAILABLE: 2,
  TOKEN_REFUSED: 3,
  TOKEN_EXPIRED: 4,
  WRONG_AUDIENCE: 4,
  UNKNOWN_SUBJECT: 5,
};

function explain(error: unknown, { audience }: OidcCredential<unknown>, setting: string): AccessRejected {
  if (error instanceof AccessRejected) return error;
  if (error instanceof KeysUnavailable)
    return new AccessRejected(
      "KEYS_UNAVAILABLE",
      `${error.message}: try again later; the gateway's log says why`,
    );
  if (error instanceof errors.JWTExpired)
    return new AccessRejected("TOKEN_EXPIRED", `the token expired${expiry(error.payload)}: send a new one`);
  if (error instanceof errors.JWTClaimValidationFailed) return explainClaim(error, audience);
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

function explainClaim(
  { claim, reason, payload }: errors.JWTClaimValidationFailed,
  audience: string,
): AccessRejected {
  if (claim === "aud")
    return new AccessRejected(
      "WRONG_AUDIENCE",
      `the token is for ${show(payload.aud)}, and must be for ${show(audience)}: get one for that audience (in Kubernetes: set it in the projected volume)`,
    );
  if (reason === "missing") return new AccessRejected("TOKEN_REFUSED", `the token lacks the claim ${claim}`);
  return new AccessRejected("TOKEN_REFUSED", `the token's claim ${claim} makes it invalid, now or always`);
}

function expiry({ exp }: JWTPayload): string {
  const at = typeof exp === "number" ? new Date(exp * 1000) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? "" : ` at ${at.toISOString()}`;
}

/** A value from a token in a message: quoted, with a bounded length. */
function show(value: unknown): string {
  return JSON.stringify(value ?? "").slice(0, MOST_SHOWN);
}
