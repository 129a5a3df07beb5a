import { createAuthority, type PushAuthority } from "../access/authority.ts";
import { createClientAddress } from "../access/client/client-address.ts";
import { createAccessRules } from "../access/rules/access-rule.ts";
import { type AccessControl, createAdmit } from "../access/rules/admit.ts";
import type { RuleCredentials } from "../access/rules/admit-settings.ts";
import { knownKinds } from "../access/rules/rejections.ts";
import { type EdgeAccess, publicScope } from "../config/access/access.ts";
import { type EdgePushCredential, exportLimitsOf, grantsOf } from "../config/access/push-credentials.ts";
import type { EdgeConfig } from "../config/edge-config.ts";
import type { Grants } from "../merge/grants.ts";
import type { Pins } from "../merge/pins.ts";
import { authoritySettings, type KeysAccess, keySourceOf, selectedTokens } from "./credentials.ts";
import { type Log, logKeys } from "./log.ts";

/** The host names before which tokens may be. */
export function hostNamesOf({ hostNames }: Pick<EdgeAccess, "hostNames">): string[] {
  return hostNames.map((name) => name.replace(/\.$/, "").toLowerCase());
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
  pushing: readonly EdgePushCredential[],
  log: Log,
): EdgeIdentities {
  const keys = { onFailure: logKeys(log) };
  const authority = createAuthority(
    authoritySettings(pushing, "push.credentials", (issued) => keySourceOf(issued, keys)!),
  );
  const rules = createAccessRules(publicScope(access), access.rules);
  const credentials = edgeCredentials(access, keys);
  const clientAddress = createClientAddress(clients);
  const admit = createAdmit({
    ...{ rules, credentials, clientAddress },
    hostNames: hostNamesOf(access),
    publicHasTokens: pushing.length > 0,
  });
  return {
    ...{ authority, grants: grantsOf(pushing), exportLimits: exportLimitsOf(pushing) },
    clusterTokens: pushing.length > 0 ? authority : undefined,
    clusterIds: pushing.map(({ clusterId }) => clusterId),
    access: { rules, kinds: knownKinds(credentials), admit, clientAddress },
  };
}

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
      oidc: rule.oidc?.map((issued) => ({ ...selectedTokens(issued), keys: keySourceOf(issued, access)! })),
      addresses: rule.addresses,
    };
    return { name: rule.name, ...withoutUndefined(given) };
  });
}

/** The object without the keys whose value is undefined. */
export function withoutUndefined<Given extends object>(
  given: Given,
): { [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Given]?: Exclude<Given[Key], undefined>;
  };
}
