import { usableAddress } from "../../dns/address.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import {
  type AddressKey,
  addressKey,
  type ReverseClaim,
  splitClaim,
} from "../../zone/reverse/reverse-order.ts";

/**
 * Says whether a cluster reports an address for a service such that it would have a reverse name if nobody else had a part in the service. What
 * other clusters report of the service does not make it give the address up.
 */
export function reportedIn(
  snapshots: readonly ClusterSnapshot[],
): (claim: ReverseClaim, address: AddressKey) => boolean {
  const known = new Map<ReverseClaim, ReadonlySet<AddressKey>>();
  return (claim, address) => {
    let addresses = known.get(claim);
    if (addresses === undefined) {
      const { cluster, namespace, name } = splitClaim(claim);
      const snapshot = snapshots.find(({ clusterId }) => clusterId === cluster);
      addresses = new Set(snapshot && addressesOf(snapshot, namespace, name));
      known.set(claim, addresses);
    }
    return addresses.has(address);
  };
}

function* addressesOf(
  { namespaces, exports, imports }: ClusterSnapshot,
  namespace: string,
  name: string,
): Generator<AddressKey> {
  if (!Object.hasOwn(namespaces, namespace)) return;
  const key = `${namespace}/${name}`;
  const exported = Object.hasOwn(exports, key) ? exports[key] : undefined;
  const imported = Object.hasOwn(imports, key) ? imports[key] : undefined;
  const groups = [
    ...(exported?.headless === true ? [exported.endpoints] : []),
    ...(exported === undefined && imported?.type === "Headless" ? Object.values(imported.endpoints) : []),
  ];
  const evenIfNotReady = exported?.publishNotReadyAddresses === true;
  const texts = exported?.headless === true ? [] : [...(imported?.ips ?? [])];
  for (const { members } of groups.flatMap((each) => Object.values(each)))
    for (const { address, ready } of Object.values(members))
      if (ready !== false || evenIfNotReady) texts.push(address);
  for (const text of texts) {
    const octets = usableAddress(text);
    if (octets !== undefined) yield addressKey(octets);
  }
}
