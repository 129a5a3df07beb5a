import { type Observed, sameObserved } from "../../comparison/observed.ts";
import {
  asked,
  type Difference,
  exactly,
  hasRecordsHere,
  isType,
  negative,
  positive,
  zoneOf,
} from "../../differences/difference.ts";
import { portLabels } from "../../differences/service-facts.ts";
import { isReady, type SliceEndpoint } from "../../worlds/services.ts";
import type { LocalPlace } from "../place.ts";
import type { OwnService } from "../services.ts";
import {
  endpointRecords,
  endpointsOf,
  type LocalPair,
  type OwnEndpoint,
  serviceNameOf,
  typeOf,
} from "./facts.ts";

/** Whether a Service publishes endpoints that are not ready. */
export function isEager(service: OwnService | undefined): boolean {
  return service?.publishNotReadyAddresses === true;
}

/** The answers for the names of a headless Service by the specification, if some of its endpoints count. */
function bySpecification(pair: LocalPair, counts: (endpoint: SliceEndpoint) => boolean): Observed {
  const { service, left } = pair.place;
  const endpoints = endpointsOf(service, counts);
  const isAt = ({ host, ports }: OwnEndpoint) =>
    left.length === 0 ||
    left.join(".") === host ||
    ports.some(
      (port) =>
        portLabels(port) === left.join(".") || `_${portLabels(port).split("._")[1]}` === left.join("."),
    );
  const here = endpoints.filter(isAt);
  if (here.length === 0) return negative("NXDOMAIN", zoneOf(pair));
  const isUnderscored = left[0]?.startsWith("_") ?? false;
  const owner = pair.question.name;
  const addresses = here
    .filter(({ address }) => !isUnderscored && isType(pair, typeOf(address)))
    .map(({ address }) => ({ owner, ttl: 5, type: typeOf(address), data: address }));
  const isSrv = isType(pair, "SRV") && (left.length === 0 || left.length === 2);
  const services = here.flatMap(({ host, ports }) =>
    ports.map(({ port }) => ({
      owner,
      ttl: 5,
      type: "SRV",
      data: `0 ${port} ${host}.${serviceNameOf(pair)}`,
    })),
  );
  if (isSrv) return positive(services, endpointRecords(pair, here));
  return addresses.length > 0 ? positive(addresses) : negative("NOERROR", zoneOf(pair));
}

const all = (pair: LocalPair) => bySpecification(pair, () => true);
const readyOnly = (pair: LocalPair) => bySpecification(pair, isReady);

/** The difference that the field `publishNotReadyAddresses` makes. */
export const publishedDifference: Difference<LocalPlace> = {
  id: "publish-not-ready",
  title: "`publishNotReadyAddresses` with unready endpoints",
  corednsSays: "The ready ones only.",
  weSay: "All endpoints.",
  reason: "They count as ready (DNS 2.1; Kubernetes API, ServiceSpec).",
  example: asked(
    "eager.data.svc.cluster.local A",
    "eager.data.svc.cluster.local A 10.52.2.5",
    "eager.data.svc.cluster.local A 10.52.2.4\neager.data.svc.cluster.local A 10.52.2.5",
  ),
  applies: (pair) =>
    isEager(pair.place.service) &&
    !isType(pair, "SOA") &&
    !(isType(pair, "ANY") && hasRecordsHere(pair)) &&
    !sameObserved(all(pair), readyOnly(pair)),
  coredns: exactly<LocalPlace>("coredns", readyOnly),
  ours: exactly<LocalPlace>("ours", all),
};
