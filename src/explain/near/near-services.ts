import { nameOf } from "../../merge/service-key.ts";
import type { Suggestion } from "../explanation.ts";
import type { NamedService } from "../subject.ts";
import { best, distanceOf, isNear, type KnownNames, MOST_SUGGESTED, type Near } from "./near-names.ts";

/**
 * The most names that are compared for one question: with more services, some near names are not found. 20,000 that are all near took
 * 94 ms on a busy machine, and 20,000 others 1.4 ms.
 */
const MOST_COMPARED = 5000;

/** Services with a similar name or namespace, or with both swapped, or of the name in another namespace. @param zone with the trailing dot */
export function nearServices(
  { namespace, name, below }: NamedService,
  zone: string,
  known: KnownNames,
): Suggestion[] {
  const prefix = below.length === 0 ? "" : `${below.join(".")}.`;
  const near: Near[] = [];
  let compared = 0;
  for (const key of known.accounts?.keys() ?? []) {
    if (++compared > MOST_COMPARED) break;
    const at = key.indexOf("/");
    const [ownNamespace, ownName] = [key.slice(0, at), key.slice(at + 1)];
    const found = comparison(namespace, name, ownNamespace, ownName);
    if (found === undefined || known.accounts?.isLacking(known.view, ownNamespace)) continue;
    near.push({ name: `${prefix}${ownName}.${ownNamespace}.svc.${zone}`, ...found });
  }
  return best(near);
}

function comparison(namespace: string, name: string, ownNamespace: string, ownName: string) {
  if (namespace === ownName && name === ownNamespace)
    return { distance: 0, because: "service and namespace are swapped: the service comes first" };
  if (name === ownName) {
    const distance = distanceOf(namespace, ownNamespace);
    return isNear(namespace, distance)
      ? { distance, because: `the namespace ${ownNamespace} is spelt almost like this` }
      : { distance: 4, because: `the service ${ownName} exists in the namespace ${ownNamespace}` };
  }
  const byName = distanceOf(name, ownName);
  if (!isNear(name, byName)) return undefined;
  if (namespace === ownNamespace)
    return { distance: byName, because: `the service ${ownName} is spelt almost like this` };
  const byNamespace = distanceOf(namespace, ownNamespace);
  return isNear(namespace, byNamespace) && byName + byNamespace <= 3
    ? { distance: byName + byNamespace, because: "service and namespace are spelt almost like this" }
    : undefined;
}

/** Some services of a namespace. */
export function servicesIn(namespace: string, { accounts, frame }: KnownNames): Suggestion[] {
  const zone = frame.trees[0]!.canonicalZone.name;
  return [...(accounts?.keys(namespace) ?? [])].slice(0, MOST_SUGGESTED).map((key) => ({
    name: `${nameOf(key)}.${namespace}.svc.${zone}`,
    because: "a service of the namespace",
  }));
}

/** Of the labels below a service, those that are spelt almost like the given ones; without any, the first ones. */
export function nearPrefixes(
  wanted: string,
  prefixes: readonly string[],
  own: string,
  what: string,
): Suggestion[] {
  const compared = prefixes.slice(0, MOST_COMPARED).map((prefix) => ({
    distance: distanceOf(wanted, prefix.toLowerCase()),
    name: `${prefix}.${own}`,
    because: `${what} of the service`,
  }));
  const near = compared.filter(({ distance }) => isNear(wanted, distance));
  return best(near.length > 0 ? near : compared);
}
