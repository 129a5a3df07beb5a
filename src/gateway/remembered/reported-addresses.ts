import { usableAddress } from "../../dns/address.ts";
import type { Contribution } from "../../merge/service/declaration.ts";
import {
  type AddressKey,
  addressKey,
  type ReverseClaim,
  splitClaim,
} from "../../zone/reverse/reverse-order.ts";

/**
 * Whether a cluster reports an address for a service such that it would have a reverse name if nobody else had a part in the service. What
 * other clusters report of the service does not make it give the address up.
 */
export function reportedIn(
  contributionOf: (clusterId: string, service: string) => Contribution | undefined,
): (claim: ReverseClaim, address: AddressKey) => boolean {
  const known = new Map<ReverseClaim, ReadonlySet<AddressKey>>();
  return (claim, address) => {
    let addresses = known.get(claim);
    if (addresses === undefined) {
      const { cluster, namespace, name } = splitClaim(claim);
      const contribution = contributionOf(cluster, `${namespace}/${name}`);
      addresses = new Set(contribution && addressesOf(contribution));
      known.set(claim, addresses);
    }
    return addresses.has(address);
  };
}

function* addressesOf({ exported, imported }: Contribution): Generator<AddressKey> {
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
    const bytes = usableAddress(text);
    if (bytes !== undefined) yield addressKey(bytes);
  }
}
