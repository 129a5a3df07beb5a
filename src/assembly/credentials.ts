import type { AuthoritySettings } from "../access/authority.ts";
import type { CertificatePattern } from "../access/certificates.ts";
import { type FetchKeys, inlineKeys, type KeySource, remoteKeys } from "../access/oidc-keys.ts";
import type { IssuedTokens, IssuerKeysPlace } from "../config/access/issuer.ts";
import { EVERYTHING, type Visibility } from "../merge/visibility/visibility.ts";

/** The options for fetching keys. */
export interface KeysAccess {
  readonly fetch?: FetchKeys;
  readonly onFailure?: (url: string, error: unknown) => void;
}

/** The inline or fetched keys of an issuer; undefined if they are in a file. */
export function keySourceOf(
  { issuer, jwks, jwksUri, discovery }: IssuerKeysPlace,
  access: KeysAccess,
): KeySource | undefined {
  if (jwks !== undefined) return inlineKeys(jwks);
  if (jwksUri !== undefined) return remoteKeys({ ...access, url: jwksUri, discovery: false });
  return discovery === true ? remoteKeys({ ...access, url: issuer, discovery: true }) : undefined;
}

/** The selection in the form of a verifier. */
export function selectedTokens({ issuer, audience, subject, claims = {} }: IssuedTokens) {
  return {
    issuer,
    audience,
    subjects: subject === undefined ? undefined : [subject].flat(),
    claims: Object.fromEntries(Object.entries(claims).map(([claim, values]) => [claim, [values].flat()])),
  };
}

/** A credential for pushing, or for transfer; one for transfer names no cluster. */
export interface Credential {
  readonly name?: string | undefined;
  readonly clusterId?: string | undefined;
  readonly control?: boolean | Visibility | undefined;
  readonly tokenSha256?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly oidc?: IssuedTokens | undefined;
  readonly certificate?: CertificatePattern | undefined;
}

/**
 * The parts of an authority.
 * @param credentials with tokens as hashes
 * @param setting the setting that has them; a credential without a name gets its position there as name
 */
export function authoritySettings(
  credentials: readonly Credential[],
  setting: string,
  keysOf: (issued: IssuedTokens) => KeySource,
): AuthoritySettings {
  const held = credentials.map((credential, index) => ({
    ...credential,
    holder: {
      ...{ credential: credential.name ?? `${setting}[${index}]`, clusterId: credential.clusterId },
      control: controlScope(credential.control),
    },
  }));
  return {
    setting,
    secrets: held.flatMap(({ holder, tokenSha256 }) =>
      tokenSha256 === undefined ? [] : { holder, tokenSha256 },
    ),
    oidc: held.flatMap(({ holder, oidc }) =>
      oidc === undefined ? [] : { holder, ...selectedTokens(oidc), keys: keysOf(oidc) },
    ),
    certificates: held.flatMap(({ holder, certificate }) =>
      certificate === undefined ? [] : { holder, ...certificate },
    ),
  };
}

/** What exists for a cluster in its desired state; undefined where it may not read it. */
export function controlScope(control: boolean | Visibility | undefined): Visibility | undefined {
  return typeof control === "boolean" ? (control ? EVERYTHING : undefined) : control;
}
