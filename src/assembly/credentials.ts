import { type AccessControl, createAdmit, knownKinds, type RuleCredentials } from "../access/admission.ts";
import { type AuthoritySettings, createAuthority, type PushAuthority } from "../access/authority.ts";
import { createClientAddress } from "../access/client.ts";
import { type FetchKeys, inlineKeys, type KeySource, remoteKeys } from "../access/oidc.ts";
import { createAccessRules } from "../access/rule.ts";
import {
  exportLimitsOf,
  grantsOf,
  type IssuedTokens,
  type PushCredential,
  publicScope,
  type RuleSettings,
  type Token,
} from "../config/access.ts";
import type { EdgeConfig } from "../config/settings.ts";
import { canonical } from "../config/values.ts";
import type { Grants, Pins } from "../merge/grants.ts";
import { EVERYTHING, type Visibility } from "../merge/visibility.ts";
import { type Log, logKeys } from "./log.ts";

/** The options for fetching keys. */
interface KeysAccess {
  readonly fetch?: FetchKeys;
  readonly onFailure?: (url: string, error: unknown) => void;
}

/** The inline or fetched keys of an issuer; undefined if they are in a file. */
export function keySourceOf(
  { issuer, jwks, jwksUri, discovery }: IssuedTokens,
  access: KeysAccess,
): KeySource | undefined {
  if (jwks !== undefined) return inlineKeys(jwks);
  if (jwksUri !== undefined) return remoteKeys({ ...access, url: jwksUri, discovery: false });
  return discovery === true ? remoteKeys({ ...access, url: issuer, discovery: true }) : undefined;
}

/** Equal for credentials that share a key source: they have one issuer, whose keys are fetched once. */
export function keySourceId(issued: IssuedTokens): string {
  const { issuer, jwks, jwksFile, jwksUri, discovery, caFile, tokenFile } = issued;
  return JSON.stringify([issuer, jwks, jwksFile, jwksUri, discovery, caFile, tokenFile]);
}

/** The selection in the form of a verifier. */
function selectedTokens({ issuer, audience, subject, claims = {} }: IssuedTokens) {
  return {
    issuer,
    audience,
    subjects: subject === undefined ? undefined : [subject].flat(),
    claims: Object.fromEntries(Object.entries(claims).map(([claim, values]) => [claim, [values].flat()])),
  };
}

/** A credential for pushing, or for transfer; one for transfer names no cluster. */
export type Credential = Partial<PushCredential>;

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
      credential: credential.name ?? `${setting}[${index}]`,
      clusterId: credential.clusterId,
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

/** The credentials of a host without files: of clusters that push, and of clients. */
export interface EdgeIdentities {
  readonly authority: PushAuthority;
  readonly grants: Grants;
  readonly exportLimits: Pins["exports"];
  /** Undefined if no cluster may push. */
  readonly clusterTokens: PushAuthority | undefined;
  /** Of all clusters that may push. */
  readonly clusterIds: readonly string[];
  readonly access: AccessControl;
}

/** Reads the credentials of a host without files from its settings. */
export function createEdgeAccess(
  { access, clients }: Pick<EdgeConfig, "access" | "clients">,
  pushing: readonly PushCredential[],
  log: Log,
): EdgeIdentities {
  const onFailure = logKeys(log);
  const sources = new Map<string, KeySource>();
  const keysOf = (issued: IssuedTokens) => {
    const id = keySourceId(issued);
    const source = sources.get(id) ?? keySourceOf(issued, { onFailure })!;
    sources.set(id, source);
    return source;
  };
  const authority = createAuthority(authoritySettings(pushing, "push.credentials", keysOf));
  const rules = createAccessRules(publicScope(access), access.rules);
  const credentials = access.rules.map((rule) => ruleCredentials(rule, keysOf));
  const clientAddress = createClientAddress(clients);
  const admit = createAdmit({
    rules,
    credentials,
    clientAddress,
    hostNames: access.hostNames.map(canonical),
    publicHasTokens: pushing.length > 0,
  });
  return {
    authority,
    grants: grantsOf(pushing),
    exportLimits: exportLimitsOf(pushing),
    clusterTokens: pushing.length > 0 ? authority : undefined,
    clusterIds: pushing.map(({ clusterId }) => clusterId),
    access: { rules, kinds: knownKinds(credentials), admit, clientAddress },
  };
}

/** The credentials of a rule. @param rule with tokens and passwords as hashes */
export function ruleCredentials(
  rule: RuleSettings,
  keysOf: (issued: IssuedTokens) => KeySource,
): RuleCredentials {
  const { name, certificates, addresses } = rule;
  const hashes = (tokens: readonly Token[] | undefined) => tokens?.map(({ tokenSha256 }) => tokenSha256!);
  return {
    name,
    bearer: hashes(rule.bearer),
    basic: rule.basic?.map(({ username, passwordSha256 }) => ({ username, passwordSha256: passwordSha256! })),
    pathTokens: hashes(rule.pathTokens),
    hostTokens: hashes(rule.hostTokens),
    certificates,
    oidc: rule.oidc?.map((issued) => ({ ...selectedTokens(issued), keys: keysOf(issued) })),
    addresses,
  };
}
