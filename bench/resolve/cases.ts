import dnsPacket, { type RecordType } from "dns-packet";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** Queries of one kind. */
export interface Case {
  readonly name: string;
  readonly queries: readonly Uint8Array[];
}

const QUERIES = 2000;

/**
 * What clients ask most, over many names of a world in which `service-<n>` is headless below half of the
 * services.
 */
export function resolveCases(snapshots: readonly ClusterSnapshot[]): Case[] {
  const keys = Object.entries(snapshots[0]!.exports);
  const names = (headless: boolean) =>
    keys
      .filter(([, exported]) => exported.headless === headless)
      .filter((_, index, all) => index % Math.ceil(all.length / QUERIES) === 0)
      .map(([key]) => {
        const [namespace, service] = key.split("/");
        return { service: service!, name: `${service}.${namespace}.svc.clusterset.local` };
      });
  const clusterSetIP = names(false);
  const headless = names(true);
  const hosts = headless.map(({ service, name }) => `${service}-0.cluster-1.${name}`);
  return [
    { name: "A of a ClusterSetIP service", queries: clusterSetIP.map(({ name }) => encodeQuery(name, "A")) },
    {
      name: "A of a headless service, 10 addresses",
      queries: headless.map(({ name }) => encodeQuery(name, "A")),
    },
    { name: "A of one endpoint", queries: hosts.map((name) => encodeQuery(name, "A")) },
    {
      name: "SRV of a ClusterSetIP service",
      queries: clusterSetIP.map(({ name }) => encodeQuery(name, "SRV")),
    },
    { name: "AAAA where there is none", queries: clusterSetIP.map(({ name }) => encodeQuery(name, "AAAA")) },
    {
      name: "a name that does not exist",
      queries: clusterSetIP.map(({ name }) => encodeQuery(`no-${name}`, "A")),
    },
  ];
}

/** A query as browsers send it: ID 0, recursion desired, an OPT record. */
export function encodeQuery(name: string, type: RecordType): Uint8Array {
  const opt = {
    type: "OPT" as const,
    name: "." as const,
    udpPayloadSize: 4096,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  const flags = dnsPacket.RECURSION_DESIRED;
  return new Uint8Array(
    dnsPacket.encode({ type: "query", id: 0, flags, questions: [{ name, type }], additionals: [opt] }),
  );
}
