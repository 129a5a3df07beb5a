import type { SetupRequest } from "../setup/setup-facts.ts";
import type { Directory } from "./directory.ts";

/** The most services that are searched for an example, in the order of names. */
const MOST_SERVICES = 50;

/** The name of a service that has an address, and on which clusters agree if there is such a one; undefined if no service has an address. */
export async function exampleIn(directory: Directory, zone: string): Promise<SetupRequest["example"]> {
  const part = await directory.services({ offset: 0, most: MOST_SERVICES, words: [], view: undefined });
  if ("missing" in part) return undefined;
  const answered = part.entries.filter(({ addresses }) => addresses.length > 0);
  const service = answered.find(({ hasConflict }) => hasConflict !== true) ?? answered[0];
  if (service === undefined) return undefined;
  const type = service.addresses[0]!.includes(":") ? "AAAA" : "A";
  return { name: `${service.name}.${service.namespace}.svc.${zone}`, type };
}
