import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

/** When the tests take place, in Unix milliseconds. */
export const NOW = Date.parse("2026-06-01T12:00:00Z");
export const AUDIENCE = "clusterset-doh";
export const SUBJECT = "system:serviceaccount:clusterset-doh:sync-worker";
export const ISSUER = "https://kubernetes.default.svc";

/** Claims of a token; undefined leaves one out. Times in seconds from `NOW`. */
export interface Claims {
  readonly iss?: string | undefined;
  readonly aud?: string | string[] | undefined;
  readonly sub?: string | undefined;
  readonly exp?: number | undefined;
  readonly nbf?: number;
  readonly groups?: unknown;
}

/** A key of an issuer. */
export interface SigningKey {
  readonly jwk: JWK;
  /** A token; every claim that is not given fits. @param header replaces what the header has */
  token(claims?: Claims, header?: object): Promise<string>;
}

/** A key pair as a cluster's API server has one. */
export async function makeKey(kid: string, alg = "ES256"): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" },
    token: (claims = {}, header = {}) => {
      const { exp, nbf, ...rest } = { iss: ISSUER, aud: AUDIENCE, sub: SUBJECT, exp: 600, ...claims };
      const at = (seconds: number) => Math.floor(NOW / 1000) + seconds;
      const stated = Object.entries(rest).filter(([, value]) => value !== undefined);
      const payload: JWTPayload = {
        ...Object.fromEntries(stated),
        ...(exp !== undefined && { exp: at(exp) }),
        ...(nbf !== undefined && { nbf: at(nbf) }),
      };
      return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
  };
}
