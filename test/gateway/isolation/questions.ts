import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../../src/snapshot/schema.ts";
import { encodeQuery } from "../../resolve/ask.ts";

/** A question in text, and as a query. */
export interface Question {
  readonly text: string;
  readonly query: Uint8Array;
}

/** What can be asked about a cluster, whoever it exists for. */
export function questions(worlds: readonly ClusterSnapshot[]): Question[] {
  const names = new Set([
    "clusterset.local",
    "corp.example",
    "federation",
    "fed.example",
    "cluster.local",
    "other",
  ]);
  const reverse = new Set<string>();
  const isLabel = (text: string | undefined): text is string => /^[a-z0-9-]{1,63}$/.test(text ?? "");
  const addReverse = (address: string) => {
    const bytes = usableAddress(address);
    if (bytes !== undefined) reverse.add(formatReverseName(bytes));
  };
  for (const { clusterId, exports, imports, services, pods } of worlds) {
    for (const [key, one] of [exports, imports, services].flatMap((table) => Object.entries(table))) {
      const [namespace, name] = key.split("/");
      if (!isLabel(namespace) || !isLabel(name)) continue;
      const service = `${name}.${namespace}.svc`;
      for (const zone of ["clusterset.local", "cluster.local"])
        for (const before of ["", "_http._tcp.", `web-0.${clusterId}.`, "web-0.north.", "hidden.", "web-0."])
          names.add(`${before}${service}.${zone}`);
      for (const before of ["", `${clusterId}.`, "north."])
        for (const zone of ["federation", "fed.example", "eu.federation", "zone-a.eu.federation"])
          names.add(`${before}${name}.${namespace}.fed.svc.${zone}`);
      for (const ip of "ips" in one ? one.ips : (one.clusterIPs ?? [])) addReverse(ip);
      const groups: EndpointGroups[] = "ips" in one ? Object.values(one.endpoints) : [one.endpoints];
      for (const { members } of groups.flatMap((each) => Object.values(each)))
        for (const { address } of Object.values(members)) addReverse(address);
    }
    for (const key of Object.keys(pods)) {
      const [namespace, address = ""] = key.split("/");
      names.add(`${address.replaceAll(/[.:]/g, "-")}.${namespace}.pod.cluster.local`);
    }
  }
  const asked = [
    ...[...names].flatMap((name) => ["A", "AAAA", "SRV"].map((type) => [name, type] as const)),
    ...[...reverse].map((name) => [name, "PTR"] as const),
  ];
  return asked.map(([name, type]) => ({ text: `${name} ${type}`, query: encodeQuery(name, type) }));
}
