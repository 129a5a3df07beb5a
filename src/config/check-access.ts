import { hostOf, isInRange, parseAddressRanges, readSocketAddress } from "../dns/address.ts";
import { ADMITS_NO_CLIENT, isStated, KINDS, publicScope, type RuleSettings } from "./access.ts";
import type { ListenPlace } from "./listeners.ts";
import type { ServeConfig } from "./settings.ts";
import { countOf, parseListenAddress, UsageError } from "./values.ts";

type Checked = Pick<ServeConfig, "access" | "listen" | "dns" | "dot" | "tls" | "publicUrl" | "clients">;

const LOOPBACK = parseAddressRanges(["127.0.0.0/8", "::1"]);

/**
 * Checks the settings of access against the others.
 * @throws {UsageError} if other machines can reach a gateway whose configuration does not state which clients
 * get answers, or if rules and listeners do not match
 */
export function checkAccess(config: Checked): void {
  checkStated(config);
  for (const kind of ["dns", "dot"] as const)
    for (const [index, place] of config[kind].listen.entries())
      checkListener(`${kind}.listen[${index}]`, place, config);
  for (const [index, rule] of config.access.rules.entries())
    checkRule(`access.rules[${index}]`, rule, config);
}

function checkStated({ access, listen, dns, dot, publicUrl, clients }: Checked): void {
  if (isStated(access)) return;
  const addresses = [
    ["listen", listen],
    ...dns.listen.map(({ address }) => ["dns.listen", address]),
    ...dot.listen.map(({ address }) => ["dot.listen", address]),
  ] as const;
  const reached = [
    ...addresses.filter(([, address]) => !isLoopback(parseListenAddress(address!).host)),
    // On loopback a proxy of the same machine may answer others.
    ...(publicUrl === undefined || isLoopback(hostOf(new URL(publicUrl))) ? [] : [["publicUrl", publicUrl]]),
    ...clients.trustedProxies.map((proxy) => ["clients.trustedProxies", `the proxy ${proxy}`]),
  ];
  const [first] = reached;
  if (first === undefined) return;
  const [key, place] = first;
  throw new UsageError(
    `${key}: other machines reach ${place}, and the configuration does not say who may query there: answer every client with --public (access.public: true in the config file), or only those that a rule of access.rules knows (docs/how-to/access.md); a gateway that only this machine reaches needs neither`,
  );
}

/** Whether only this machine can reach an address. */
function isLoopback(host: string | undefined): boolean {
  if (host === "localhost") return true;
  const address = readSocketAddress(host ?? "");
  return address !== undefined && LOOPBACK.some((range) => isInRange(address, range));
}

function checkListener(key: string, { rule: name, view }: ListenPlace, { access }: Checked): void {
  const rule = access.rules.find((one) => one.name === name);
  if (name !== undefined && rule === undefined)
    throw new UsageError(`${key}.rule: there is no rule ${JSON.stringify(name)} in access.rules`);
  const scope = rule?.scope ?? publicScope(access);
  if (scope === undefined)
    throw new UsageError(
      `${key}: must have a rule, the name of one of access.rules: clients there have no credential, and access.public is not set`,
    );
  if (view === undefined) return;
  if (scope.view !== undefined && scope.view !== view)
    throw new UsageError(`${key}.view: is ${view}, and clients there have the view ${scope.view}`);
  if (scope.clusters?.includes(view) === false)
    throw new UsageError(`${key}.view: the cluster ${view} does not exist for clients there`);
}

function checkRule(key: string, rule: RuleSettings, { dns, dot, tls }: Checked): void {
  const isOfListener = [...dns.listen, ...dot.listen].some((place) => place.rule === rule.name);
  if (countOf(rule, KINDS) === 0 && !isOfListener)
    throw new UsageError(`${key}: ${ADMITS_NO_CLIENT}, or name it at a listener`);
  if (rule.certificates !== undefined && (typeof tls !== "object" || tls.clientCaFile === undefined))
    throw new UsageError(`${key}.certificates: need a trusted authority: give tls.clientCaFile`);
}
