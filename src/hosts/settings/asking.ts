import { type AskingAuthority, createAskingAuthority } from "../../access/asking/asking-authority.ts";
import type { RuleCredentials } from "../../access/asking/asking-settings.ts";
import { type Audiences, createAudiences } from "../../access/asking/audience.ts";
import { knownKinds } from "../../access/asking/refusals.ts";
import type { ClientAddress } from "../../access/client/client-address.ts";
import { type EdgeAccess, publicScope } from "../../config/access.ts";
import { type IssuerKeysPlace, type KeysAccess, keySourceOf } from "../../config/issuer.ts";
import type { HttpRequest } from "../../http/exchange.ts";
import { scopeKey } from "../../merge/scope.ts";

type AnyAccess = Pick<EdgeAccess, "public" | "hostNames"> & {
  readonly rules: readonly Pick<EdgeAccess["rules"][number], "name" | "scope" | "addresses">[];
};

/** The audiences that settings tell of. */
export function audiencesOf(access: AnyAccess): Audiences {
  return createAudiences(publicScope(access), access.rules);
}

/** Whether everybody gets the same answers whatever they show: then nobody has to be asked who they are. */
export function isForEverybody(access: AnyAccess, rules: readonly RuleCredentials[]): boolean {
  const everybody = publicScope(access);
  const { bearer, basic, unseen } = knownKinds(rules);
  const isByUrl = rules.some(({ pathTokens, hostTokens }) => (pathTokens ?? hostTokens) !== undefined);
  return everybody !== undefined && scopeKey(everybody) === "" && !(bearer || basic || unseen || isByUrl);
}

/** Names of hosts as tokens are looked for before them. */
export function hostNamesOf({ hostNames }: AnyAccess): string[] {
  return hostNames.map((name) => name.replace(/\.$/, "").toLowerCase());
}

type Issued = IssuerKeysPlace & {
  readonly audience: string;
  readonly subject?: string | string[] | undefined;
  readonly claims?: Readonly<Record<string, string | string[]>> | undefined;
};

/** Whose tokens of an issuer count, as the authority takes it. */
export function whoseTokens({ issuer, audience, subject, claims = {} }: Issued) {
  return {
    issuer,
    audience,
    subjects: subject === undefined ? undefined : [subject].flat(),
    claims: Object.fromEntries(Object.entries(claims).map(([claim, values]) => [claim, [values].flat()])),
  };
}

/** What who asks is found out with on a host without files. */
export interface EdgeAskingParts {
  readonly access: EdgeAccess;
  /** Whether tokens of clusters that push say which one asks. */
  readonly canPush: boolean;
  readonly keys: KeysAccess;
  readonly clientAddress: ClientAddress;
}

/** The authority over who asks on a host without files. */
export function createEdgeAsking(parts: EdgeAskingParts): EdgeAsking {
  const { access, canPush, keys, clientAddress } = parts;
  const audiences = audiencesOf(access);
  const rules = edgeRules(access, keys);
  return {
    audiences,
    rules,
    isForEverybody: isForEverybody(access, rules),
    authority: createAskingAuthority<HttpRequest>({
      audiences,
      rules,
      hostNames: hostNamesOf(access),
      everybodyHasTokens: canPush,
      clientAddress,
    }),
  };
}

/** Who asks on a host without files. */
export interface EdgeAsking {
  readonly audiences: Audiences;
  readonly rules: readonly RuleCredentials[];
  /** Whether everybody gets the same answers whatever they show. */
  readonly isForEverybody: boolean;
  readonly authority: AskingAuthority<HttpRequest>;
}

/** What a host that others always reach says where nobody has stated who may ask. */
export const ACCESS_NOT_STATED =
  "the configuration does not say who may query, so every client may: set access.public or access.rules in CONFIG (docs/how-to/access.md)";

/** The credentials of rules on a host without files. */
export function edgeRules({ rules }: EdgeAccess, access: KeysAccess): RuleCredentials[] {
  const hashes = (tokens: readonly { readonly tokenSha256: string }[] | undefined) =>
    tokens?.map(({ tokenSha256 }) => tokenSha256);
  return rules.map((rule) => {
    const given = {
      bearer: hashes(rule.bearer),
      basic: rule.basic,
      pathTokens: hashes(rule.pathTokens),
      hostTokens: hashes(rule.hostTokens),
      oidc: rule.oidc?.map((issued) => ({ ...whoseTokens(issued), keys: keySourceOf(issued, access)! })),
      addresses: rule.addresses,
    };
    return { name: rule.name, ...withoutUndefined(given) };
  });
}

/** What is given of an object. */
export function withoutUndefined<Given extends object>(
  given: Given,
): { [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Given]?: Exclude<Given[Key], undefined>;
  };
}
