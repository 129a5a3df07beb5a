import type { ClientAddress } from "../../access/client/client-address.ts";
import { createAccessRules } from "../../access/rules/access-rule.ts";
import { type AccessControl, createAdmit } from "../../access/rules/admit.ts";
import type { RuleCredentials } from "../../access/rules/admit-settings.ts";
import { knownKinds } from "../../access/rules/rejections.ts";
import { type EdgeAccess, publicScope } from "../../config/access.ts";
import { type KeysAccess, keySourceOf, whoseTokens } from "../../config/issuer.ts";

/** Names of hosts as tokens are looked for before them. */
export function hostNamesOf({ hostNames }: Pick<EdgeAccess, "hostNames">): string[] {
  return hostNames.map((name) => name.replace(/\.$/, "").toLowerCase());
}

/** What admission works with on a host without files. */
export interface EdgeAdmissionParts {
  readonly access: EdgeAccess;
  /** Whether tokens of clusters that push decide a query's view. */
  readonly canPush: boolean;
  readonly keys: KeysAccess;
  readonly clientAddress: ClientAddress;
}

/** Admission on a host without files. */
export function createEdgeAdmission(parts: EdgeAdmissionParts): AccessControl {
  const { access, canPush, keys, clientAddress } = parts;
  const rules = createAccessRules(publicScope(access), access.rules);
  const credentials = edgeCredentials(access, keys);
  return {
    rules,
    kinds: knownKinds(credentials),
    admit: createAdmit({
      ...{ rules, credentials, clientAddress },
      hostNames: hostNamesOf(access),
      publicHasTokens: canPush,
    }),
  };
}

/** What a host that others always reach says where nobody has stated who may ask. */
export const ACCESS_NOT_STATED =
  "the configuration does not say who may query, so every client may: set access.public or access.rules in CONFIG (docs/how-to/access.md)";

/** The credentials of rules on a host without files. */
function edgeCredentials({ rules }: EdgeAccess, access: KeysAccess): RuleCredentials[] {
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
