import type { SetupRequest } from "../setup/setup-facts.ts";
import type { Directory } from "./directory.ts";

/** The most services and conflicts that are searched for an example; both are in the order of names. */
const MOST_SERVICES = 50;
const MOST_CONFLICTS = 1000;

/** The name of a service that has an address, and on which clusters agree if there is such a one; undefined if no service has an address. */
export async function exampleIn(directory: Directory, zone: string): Promise<SetupRequest["example"]> {
  const [part, conflicts] = await Promise.all([
    directory.services({ offset: 0, most: MOST_SERVICES, words: [], view: undefined }),
    directory.conflicts({ offset: 0, most: MOST_CONFLICTS }),
  ]);
  if ("missing" in part) return undefined;
  const contested = new Set("missing" in conflicts ? [] : conflicts.entries.map(keyOf));
  const answered = part.entries.filter(({ addresses }) => addresses.length > 0);
  const service = answered.find((one) => !contested.has(keyOf(one))) ?? answered[0];
  if (service === undefined) return undefined;
  const type = service.addresses[0]!.includes(":") ? "AAAA" : "A";
  return { name: `${service.name}.${service.namespace}.svc.${zone}`, type };
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
