import type { AdjustedTime } from "./service/declaration.ts";

/** What the operator has decided of services, whatever clusters report. */
export interface Pins {
  /** The services that a cluster may export, by cluster id. A cluster that is absent may export any. */
  readonly exports?: ReadonlyMap<string, readonly string[]> | undefined;
  /** Whose export decides the properties of a service; the first that fits counts. */
  readonly owners?: readonly { readonly service: string; readonly owner: string }[] | undefined;
}

/** The same in the form that merging reads. Services are `<namespace>/<name>`. */
export interface PinTable {
  mayExport(clusterId: string, service: string): boolean;
  ownerOf(service: string): string | undefined;
}

/** The rank of a pinned owner: before every other export. */
export const PINNED: AdjustedTime = { counts: Number.NEGATIVE_INFINITY, because: undefined };

/**
 * A pattern of services: a namespace, or `<namespace>/<name>`; `*` matches any number of characters within
 * either part.
 */
export const SERVICE_PATTERN = /^[a-z0-9*-]{1,63}(?:\/[a-z0-9*-]{1,63})?$/;

type Fits = (service: string) => boolean;

/** @throws {RangeError} for what is no pattern */
export function createPinTable({ exports, owners = [] }: Pins = {}): PinTable {
  const allowed = new Map<string, readonly Fits[]>(
    [...(exports ?? [])].map(([clusterId, patterns]) => [clusterId, patterns.map(fitting)]),
  );
  const owned = owners.map(({ service, owner }) => [fitting(service), owner] as const);
  return {
    mayExport: (clusterId, service) => allowed.get(clusterId)?.some((fits) => fits(service)) ?? true,
    ownerOf: (service) => owned.find(([fits]) => fits(service))?.[1],
  };
}

function fitting(pattern: string): Fits {
  if (!SERVICE_PATTERN.test(pattern))
    throw new RangeError(`${JSON.stringify(pattern)} is no pattern of services`);
  const [namespace, name = "*"] = pattern.split("/");
  const wanted = [namespace!, name].map((part) => part.split("*"));
  return (service) => service.split("/").every((part, index) => fitsPart(wanted[index]!, part));
}

/** Takes the texts between the stars from the left, so that no pattern costs more than its length times that of the text. */
function fitsPart([first, ...others]: readonly string[], text: string): boolean {
  if (others.length === 0) return text === first;
  if (!text.startsWith(first!)) return false;
  const last = others.at(-1)!;
  let at = first!.length;
  for (const between of others.slice(0, -1)) {
    const found = text.indexOf(between, at);
    if (found < 0) return false;
    at = found + between.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
