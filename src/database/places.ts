import { formatAddress, parseAddress } from "../dns/address.ts";
import type { Collection, SINGLES } from "../snapshot/parse.ts";
import type { LocalService } from "../snapshot/schema.ts";

/** What a row has. */
export const Kind = {
  /** `topology` or `clusterZone`: key `""`, name of the member. */
  single: 0,
  /** Key `<namespace>/`, name `<namespace>`. */
  namespace: 1,
  /** Key and name `<namespace>/<name>`. */
  export: 2,
  /** Key and name `<namespace>/<name>`. */
  import: 3,
  /** A Service of the cluster's own zone. Key `localKey`, name `<namespace>/<name>`. */
  service: 4,
  /** Many pods, a JSON object by `<namespace>/<address>`. Key `podsKey`, name that key. */
  pods: 5,
  /** Many findings, a JSON object by finding key. Key `findingsKey`, name that key. */
  findings: 6,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** The kinds of collections and singles. */
export const KIND_OF: Readonly<Record<Collection | (typeof SINGLES)[number], Kind>> = {
  topology: Kind.single,
  clusterZone: Kind.single,
  namespaces: Kind.namespace,
  exports: Kind.export,
  imports: Kind.import,
  services: Kind.service,
  pods: Kind.pods,
  findings: Kind.findings,
};

/** Rows that small entries of a cluster share: 180,000 pods have rows of some 25 KB. */
const BUCKETS = 256;

/** The key of a namespace's rows. */
export function namespaceKey(namespace: string): string {
  return `${namespace}/`;
}

/**
 * The key of a Service in a cluster's own zone: that of the last label of a dotted name that it owns, else
 * its own.
 * @param name `<namespace>/<name>`
 */
export function localKey(
  name: string,
  { serviceType, ownedName }: Pick<LocalService, "serviceType" | "ownedName">,
): string {
  if (serviceType !== "ExternalName" || ownedName === undefined) return name;
  return `${name.slice(0, name.indexOf("/"))}/${ownedName.toLowerCase().split(".").at(-1)}`;
}

/**
 * The key of the row that has a pod.
 * @param name `<namespace>/<address>`; the address may be written in any form
 */
export function podsKey(name: string): string {
  const slash = name.indexOf("/");
  const bytes = parseAddress(name.slice(slash + 1));
  return `#${bucketOf(bytes === undefined ? name : name.slice(0, slash + 1) + formatAddress(bytes))}`;
}

/**
 * The key of the row that has a finding: one for all findings of an object.
 * @param name `<kind>/[<namespace>/]<name>/<reason>`; another text has some row
 */
export function findingsKey(name: string): string {
  const [first, last] = [name.indexOf("/"), name.lastIndexOf("/")];
  return findingsKeyOf(first < last ? name.slice(first + 1, last) : name);
}

/**
 * The key of the row that has the findings of an object.
 * @param object `<namespace>/<name>`, or the name of one without a namespace
 */
export function findingsKeyOf(object: string): string {
  return `!${bucketOf(object)}`;
}

/**
 * What a cluster reports an address by, and as what:
 *
 * - `exportEndpoint`, `exportIP`: by its own export, in a namespace that it has. It would have the reverse
 *   name if no other cluster had a part in the service.
 * - `importEndpoint`, `importIP`: by an import of a service that it does not export.
 * - `other`: in such a way that it has the reverse name only if another cluster decides the type of the
 *   service.
 * - `local`: for a service of its own zone.
 *
 * A scope may hide endpoints or clusterset IPs. Each has an order of its own, so that what is hidden has no
 * part in the order of the other.
 */
export type Basis = keyof typeof BASES;

/** In front of an address in the text of claims. */
export const BASES = {
  exportEndpoint: "",
  exportIP: "^",
  importEndpoint: "<",
  importIP: ">",
  other: "~",
  local: "=",
} as const;

/** An address as hexadecimal digits. */
export function hexOf(address: Uint8Array): string {
  let hex = "";
  for (const byte of address) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

/** The bytes of an address, or of others. @param hex of `hexOf` */
export function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g)!, (byte) => Number.parseInt(byte, 16));
}

/**
 * The bucket of `claim` that has an address: 64 neighbours share one, so that a pod is not a row.
 * @param hex the address
 */
export function claimBucket(hex: string): string {
  return hex.slice(0, -2) + (Number.parseInt(hex.slice(-2), 16) >>> 6);
}

/**
 * The row of `claim` of a service that waits for a claim on an address, with its order; without a name, how
 * all such rows of the address begin. They come after all buckets.
 * @param place the address in hex, after that of its basis
 */
export function waitingBucket(cluster: string, place: string, name?: string): string {
  return ["waiting", cluster, place, ...(name === undefined ? [] : [name])].join(" ");
}

/** The service that a row of `waitingBucket` has; undefined for a bucket. */
export function nameOfWaiting(bucket: string): string | undefined {
  return bucket.split(" ")[3];
}

/** The key by which the log names a bucket of `claim`. */
export function claimsKey(bucket: string): string {
  return `@${bucket}`;
}

/** The bucket of `claim` that a key of the log names; undefined for other keys. */
export function bucketOfClaims(key: string): string | undefined {
  return key.startsWith("@") ? key.slice(1) : undefined;
}

/** FNV-1a. */
function bucketOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++)
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  return (hash >>> 0) % BUCKETS;
}
