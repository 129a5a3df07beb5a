import { editDistance, mostChanges } from "../dns/edit-distance.ts";
import { compareText, nameOf, namespaceOf } from "../merge/order.ts";
import type { Accounts } from "../names/services.ts";
import { CLUSTERSET_TREE } from "../zone/name-tree.ts";
import type { Frame } from "../zone/world.ts";
import type { Suggestion } from "./explanation.ts";
import type { NamedService } from "./question.ts";

/** The names that exist in a view. */
export interface KnownNames {
  readonly frame: Frame;
  /** Its index. */
  readonly view: number;
  /** Undefined on hosts that do not merge: which services there are is not known. */
  readonly accounts: Accounts | undefined;
}

/** The most names that are suggested. */
const MOST_SUGGESTED = 5;
/** The most near services that are looked up in the view. */
const MOST_LOOKED_UP = 50;
/** At most one more than the most changed characters. */
const distanceOf = (wanted: string, name: string) => editDistance(wanted, name, mostChanges(wanted));
/** Whether so many changed characters are few. */
const isNear = (wanted: string, distance: number) => distance <= mostChanges(wanted);

/** A name with its distance from that of the query. */
interface Near extends Suggestion {
  readonly distance: number;
  /** `<namespace>/<name>` of the service that the view must have. */
  readonly key?: string;
}

/**
 * The zone that a name out of zone may mean, and the form that a name in the zone may lack.
 * @param labels of the whole name, in lower case
 */
export function nearZones(labels: readonly string[], known: KnownNames): Suggestion[] {
  const { frame, view } = known;
  const near: Near[] = [];
  for (const zone of frame.zones) {
    const tree = frame.treeFor(zone, view);
    if (tree < 0 || zone.name === ".") continue;
    const text = zone.name.slice(0, -1);
    for (const count of [zone.labels - 1, zone.labels, zone.labels + 1]) {
      if (count < 1 || count > labels.length) continue;
      const suffix = labels.slice(-count).join(".");
      const distance = distanceOf(suffix, text);
      const name = [...labels.slice(0, -count), zone.name].join(".");
      if (isNear(suffix, distance) && distance > 0)
        near.push({ distance, name, because: `the zone is ${zone.name}` });
    }
    if (frame.trees[tree]!.key !== CLUSTERSET_TREE) continue;
    const svc = labels.indexOf("svc");
    if (svc >= 2 && isService(known, `${labels[svc - 1]}/${labels[svc - 2]}`))
      near.push({
        distance: 3,
        name: [...labels.slice(0, svc + 1), zone.name].join("."),
        because: `the service exists in the zone ${zone.name}`,
      });
    near.push(...withSvc(labels, zone.name, known));
  }
  return best(near);
}

/** Whether a view has a service. @param key `<namespace>/<name>` */
function isService({ accounts, frame, view }: KnownNames, key: string): boolean {
  return accounts?.has(key, frame.viewName(view)) === true;
}

/** `<service>.<namespace>` without `svc`, or with a misspelt one. @param labels those before the zone */
export function withSvc(labels: readonly string[], zone: string, known: KnownNames): Near[] {
  const near: Near[] = [];
  const add = (end: number, distance: number, because: string) => {
    const own = labels.slice(0, end);
    if (own.length < 2 || !isService(known, `${own.at(-1)}/${own.at(-2)}`)) return;
    near.push({ distance, name: [...own, "svc", zone].join("."), because });
  };
  add(labels.length, 2, "the label svc comes between the namespace and the zone");
  if (editDistance(labels.at(-1) ?? "", "svc", 2) <= 2)
    add(labels.length - 1, 1, "the label svc comes between the namespace and the zone");
  return near;
}

/** The nearest ones, each once. */
function best(near: readonly Near[], known?: KnownNames): Suggestion[] {
  const sorted = near.toSorted(
    (one, other) => one.distance - other.distance || compareText(one.name, other.name),
  );
  const suggestions = new Map<string, Suggestion>();
  for (const { name, because, key } of sorted.slice(0, MOST_LOOKED_UP)) {
    if (suggestions.size === MOST_SUGGESTED) break;
    if (known !== undefined && key !== undefined && !isService(known, key)) continue;
    if (!suggestions.has(name)) suggestions.set(name, { name, because });
  }
  return [...suggestions.values()];
}

/**
 * The most names that are compared for one question: with more services, some near names are not found.
 * 20,000 that are all near took 94 ms on a busy machine, and 20,000 others 1.4 ms.
 */
const MOST_COMPARED = 5000;

/**
 * Services with a similar name or namespace, or with both swapped, or of the name in another namespace.
 * @param zone with the trailing dot
 */
export function nearServices(
  { namespace, name, below }: NamedService,
  zone: string,
  known: KnownNames,
): Suggestion[] {
  const prefix = below.length === 0 ? "" : `${below.join(".")}.`;
  const near: Near[] = [];
  let compared = 0;
  for (const key of known.accounts?.world.entries.serviceKeys() ?? []) {
    if (++compared > MOST_COMPARED) break;
    const [ownNamespace, ownName] = [namespaceOf(key), nameOf(key)];
    const found = comparison(namespace, name, ownNamespace, ownName);
    if (found === undefined || known.accounts?.isLacking(known.view, ownNamespace)) continue;
    near.push({ key, name: `${prefix}${ownName}.${ownNamespace}.svc.${zone}`, ...found });
  }
  return best(near, known);
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
export function servicesIn(namespace: string, known: KnownNames): Suggestion[] {
  const zone = known.frame.trees[0]!.canonicalZone.name;
  const keys = [...(known.accounts?.world.entries.serviceKeys(namespace) ?? [])].slice(0, MOST_LOOKED_UP);
  const services = keys.filter((key) => isService(known, key));
  return services.slice(0, MOST_SUGGESTED).map((key) => ({
    name: `${nameOf(key)}.${namespace}.svc.${zone}`,
    because: "a service of the namespace",
  }));
}

/**
 * Of the labels below a service, those that are spelt almost like the given ones; without any, the first
 * ones.
 */
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
