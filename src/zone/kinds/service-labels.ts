import { formatAddress } from "../../dns/address.ts";
import { MAX_LABEL_BYTES } from "../../dns/codes.ts";
import type { EndpointPort, ServicePort } from "../../snapshot/schema.ts";

const LABEL = /^[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?$/;
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["", "_tcp"],
  ["TCP", "_tcp"],
  ["UDP", "_udp"],
  ["SCTP", "_sctp"],
]);

/** Whether text can be one label of a host name: RFC 1123 section 2.1, at most 63 bytes. */
export function isHostLabel(text: string): boolean {
  return text.length <= MAX_LABEL_BYTES && LABEL.test(text);
}

/** Whether a label may be part of a key: one of a host name, perhaps with underscores, or that of a pod, which may end in a dash. */
export function isKeyLabel(label: string): boolean {
  return isHostLabel(label) || isHostLabel(label.replaceAll("_", "x").replace(/-$/, "x"));
}

/**
 * The labels of a cluster id: one, or two joined by a dot (KEP-1645). A label value of Kubernetes may contain
 * underscores; a DNS label may, too, so they are kept. Undefined for anything else.
 */
export function clusterIdLabels(clusterId: string): readonly string[] | undefined {
  const labels = clusterId.split(".");
  return labels.length <= 2 && labels.every((label) => isHostLabel(label.replaceAll("_", "x")))
    ? labels
    : undefined;
}

/** Whether text can be the name of a namespace or a Service: a label in lower case (RFC 1123; Kubernetes, Names). */
export function isObjectLabel(text: string): boolean {
  return isHostLabel(text) && text === text.toLowerCase();
}

/** The labels `_<port>._<protocol>` and the number of a port (specification 2.3.2), or the reason why it has none. */
export type PortLabels =
  | {
      readonly kind: "named";
      readonly portLabel: string;
      readonly protocolLabel: string;
      readonly number: number;
    }
  | { readonly kind: "unnamed" }
  | { readonly kind: "odd"; readonly reason: string; readonly message: string };

/** Validates a port. The protocol defaults to TCP, as in the API server. */
export function portLabels({ name, protocol, port }: ServicePort | EndpointPort): PortLabels {
  const shown = () => `port ${JSON.stringify(name)} (${protocol || "TCP"} ${port})`;
  if (port < 1 || port > 65535)
    return {
      kind: "odd",
      reason: "InvalidPortNumber",
      message: `${shown()} is outside 1 to 65535: it gets no SRV record`,
    };
  if (name === "") return { kind: "unnamed" };
  const protocolLabel = PROTOCOLS.get(protocol.toUpperCase());
  if (protocolLabel === undefined)
    return {
      kind: "odd",
      reason: "InvalidProtocol",
      message: `${shown()} has a protocol that is not TCP, UDP or SCTP: it gets no SRV record`,
    };
  if (!isHostLabel(name) || name.length + 1 > MAX_LABEL_BYTES)
    return {
      kind: "odd",
      reason: "InvalidPortName",
      message: `${shown()} has a name that cannot be a DNS label: it gets no SRV record`,
    };
  return { kind: "named", portLabel: `_${name.toLowerCase()}`, protocolLabel, number: port };
}

/**
 * The label of an endpoint without a hostname: its address with dashes, as CoreDNS writes it (an IPv6
 * address that would end in a dash gets a final zero).
 */
export function addressLabel(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}-${bytes[1]}-${bytes[2]}-${bytes[3]}`;
  return podLabels(bytes).at(-1)!;
}

/**
 * The labels of a pod: its address with dashes. An IPv6 label that ends in a dash, as in CoreDNS, also exists with a
 * final zero, since a host name must not end in a dash (RFC 1123 section 2.1).
 */
export function podLabels(bytes: Uint8Array): readonly string[] {
  const label = formatAddress(bytes).replaceAll(/[.:]/g, "-");
  return label.endsWith("-") ? [label, `${label}0`] : [label];
}
