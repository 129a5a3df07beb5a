import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import { type AccessRefusal, AccessRefused } from "./access-refused.ts";
import { type KeySource, KeysUnavailable } from "./oidc-keys.ts";

/** Tokens of an issuer by which somebody is known (OpenID Connect Core 1.0 section 3.1.3.7). */
export interface OidcCredential<Holder> {
  /** As whom: a cluster that pushes, a rule for who asks. */
  readonly holder: Holder;
  /** The claim `iss`, exactly. */
  readonly issuer: string;
  /** One of the claim `aud`. */
  readonly audience: string;
  /** The claim `sub`: one of these, exactly. Absent: any. */
  readonly subjects?: readonly string[] | undefined;
  /** Other claims: each of them has one of these values, alone or in a list. */
  readonly claims?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly keys: KeySource;
}

/** Finds out whom a token is of. */
export interface OidcVerifier<Holder> {
  /**
   * @returns as whom its holder is known, in the order of the credentials; undefined for what is no JSON Web Token
   * @throws {AccessRefused} saying what is wrong with it
   */
  holdersOf(token: string): Promise<ReadonlySet<Holder> | undefined>;
}

/** Signatures by a private key alone; what is missing (`none`, HMAC) is refused whatever a token says of itself. */
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
/** How far apart the clocks may be, in seconds. */
const CLOCK_TOLERANCE = 30;
const MOST_SHOWN = 200;

/**
 * A verifier of tokens. Clusters often share an issuer's name and the subject, and differ in their keys alone: so each
 * credential is tried with its own keys, and with no other.
 * @param setting where the credentials are configured, for messages
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
      let refused = new AccessRefused(
        "UNKNOWN_ISSUER",
        `no credential is for the issuer ${show(issuer)} that the token names: add it to the gateway's ${setting}`,
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

/** Undefined for what is no JSON Web Token. Nothing of it is believed. */
function readIssuer(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === "string" ? iss : "";
  } catch {
    return undefined;
  }
}

/** @throws {Error} where the token is not one for the credential */
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
    throw new AccessRefused(
      "UNKNOWN_SUBJECT",
      `the token is of ${show(payload.sub)}, which ${setting}[].oidc.subject does not name`,
    );
  for (const [claim, wanted] of Object.entries(claims))
    if (!valuesOf(payload, claim).some((value) => wanted.includes(value)))
      throw new AccessRefused(
        "UNKNOWN_SUBJECT",
        `the token's claim ${show(claim)} has none of the values that ${setting}[].oidc.claims wants`,
      );
}

/** The texts of a claim, which is one or a list of them; none where it is anything else. */
function valuesOf(payload: JWTPayload, claim: string): readonly string[] {
  const value: unknown = Object.hasOwn(payload, claim) ? payload[claim] : undefined;
  return [value].flat().filter((one) => typeof one === "string");
}

/** Which refusal is told where several credentials were tried: the one that came furthest. */
const RANK: Readonly<Record<AccessRefusal, number>> = {
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

function explain(error: unknown, { audience }: OidcCredential<unknown>, setting: string): AccessRefused {
  if (error instanceof AccessRefused) return error;
  if (error instanceof KeysUnavailable)
    return new AccessRefused(
      "KEYS_UNAVAILABLE",
      `${error.message}: try again later; the gateway's log says why`,
    );
  if (error instanceof errors.JWTExpired)
    return new AccessRefused("TOKEN_EXPIRED", `the token expired${expiry(error.payload)}: send a new one`);
  if (error instanceof errors.JWTClaimValidationFailed) return explainClaim(error, audience);
  if (error instanceof errors.JWKSNoMatchingKey)
    return new AccessRefused(
      "UNKNOWN_KEY",
      `no key of the issuer fits the token: is it of that issuer, and does ${setting}[].oidc have its newest keys?`,
    );
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return new AccessRefused("UNKNOWN_KEY", "the token names no key (kid), and the issuer has several");
  if (error instanceof errors.JOSEAlgNotAllowed)
    return new AccessRefused(
      "TOKEN_REFUSED",
      `the token is signed otherwise than by ${ALGORITHMS.join(", ")}`,
    );
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new AccessRefused("UNKNOWN_KEY", "the token's signature is not one of the issuer's key");
  if (error instanceof errors.JOSEError)
    return new AccessRefused("TOKEN_REFUSED", "the token is not a readable signed JSON Web Token");
  return new AccessRefused("KEYS_UNAVAILABLE", "the issuer's key cannot be used: fix its key set");
}

function explainClaim(
  { claim, reason, payload }: errors.JWTClaimValidationFailed,
  audience: string,
): AccessRefused {
  if (claim === "aud")
    return new AccessRefused(
      "WRONG_AUDIENCE",
      `the token is for ${show(payload.aud)}, and must be for ${show(audience)}: get one for that audience (in Kubernetes: the projected volume says it)`,
    );
  if (reason === "missing") return new AccessRefused("TOKEN_REFUSED", `the token lacks the claim ${claim}`);
  return new AccessRefused("TOKEN_REFUSED", `the token's claim ${claim} does not allow it, now or at all`);
}

function expiry({ exp }: JWTPayload): string {
  const at = typeof exp === "number" ? new Date(exp * 1000) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? "" : ` at ${at.toISOString()}`;
}

/** Text of others in a message: quoted, and bounded. */
function show(value: unknown): string {
  return JSON.stringify(value ?? "").slice(0, MOST_SHOWN);
}
