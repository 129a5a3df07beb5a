import { asked, type Difference, onlyInCoreDns } from "../../differences/difference.ts";
import type { LocalPlace } from "../place.ts";
import {
  hasAddresses,
  isEndpointName,
  isHeadless,
  isPortName,
  isPortToCoreDns,
  type LocalPair,
} from "./facts.ts";
import { publishedDifference } from "./published.ts";

const isHostNamed = ({ place: { service } }: LocalPair) =>
  isHeadless(service) && service!.slices.length > 0 && !service!.slices.some(hasAddresses);

/** Differences that have to do with endpoints. */
export const endpointDifferences: Difference<LocalPlace>[] = [
  {
    id: "cluster-ip-endpoints",
    title: "`<hostname>.<service>` of a service with a cluster IP",
    corednsSays: "The endpoint.",
    weSay: "NXDOMAIN.",
    reason: "Headless services only (DNS 2.4.1).",
    example: asked(
      "w0.web.shop.svc.cluster.local A",
      "w0.web.shop.svc.cluster.local A 10.51.0.1",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair: LocalPair) => pair.place.service?.kind === "cluster IP" && isEndpointName(pair)),
  },
  publishedDifference,
  {
    id: "host-name-slices",
    title: "A headless service with `addressType: FQDN`",
    corednsSays: "A CNAME to the host name.",
    weSay: "NXDOMAIN, and a finding.",
    reason: "DNS 2.4.1 has addresses only; several CNAMEs are forbidden (RFC 2181 section 10.1).",
    example: asked(
      "h0.host-names.data.svc.cluster.local A",
      "h0.host-names.data.svc.cluster.local CNAME host.example.com",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair: LocalPair) => isHostNamed(pair) && (isPortName(pair) || !isPortToCoreDns(pair))),
  },
];
