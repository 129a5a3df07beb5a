import type { Pair } from "../comparison/comparison.ts";
import { isReady } from "../worlds/services.ts";
import {
  asked,
  type Difference,
  exactly,
  isType,
  nodata,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
  silent,
} from "./difference.ts";
import { isHeadless, isPortName, isPortNameToCoreDns } from "./service-facts.ts";
import { additionalsFor } from "./srv.ts";

const slicesOf = ({ place }: Pair) => (isHeadless(place.service) ? (place.service?.slices ?? []) : []);
const unlabelledSlices = (pair: Pair) => slicesOf(pair).filter(({ source }) => source === undefined);
const isUnlabelledAlone = (pair: Pair) =>
  slicesOf(pair).length > 0 && unlabelledSlices(pair).length === slicesOf(pair).length;
const isHostNamed = (pair: Pair) =>
  slicesOf(pair).length > 0 && slicesOf(pair).every(({ addressType }) => addressType === "FQDN");
const isLax = (pair: Pair) => isPortNameToCoreDns(pair) && !isPortName(pair);

/** The source-cluster labels with a dot whose names the name is one of, or above. */
const dottedSources = (pair: Pair) =>
  slicesOf(pair).filter(
    ({ source }) =>
      (source?.includes(".") && `.${source}`.endsWith(`.${pair.place.left.join(".")}`)) ||
      isDottedEndpoint(pair, source),
  );
const isDottedEndpoint = ({ place }: Pair, source: string | undefined) =>
  !!source?.includes(".") &&
  place.left.length === 1 + source.split(".").length &&
  place.left.slice(1).join(".") === source.toLowerCase();

/** Differences that have to do with the endpoints of headless services. */
export const endpointDifferences: Difference[] = [
  {
    id: "dotted-cluster-id",
    title: "Names below a cluster id of two labels",
    corednsSays: "SRV targets are NXDOMAIN themselves.",
    weSay: "The addresses; NODATA for the names above.",
    reason: "A cluster id may be two labels (KEP-1645, Terminology).",
    example: asked(
      "dotty.c.dot.dotted.data.svc.clusterset.local A",
      "NXDOMAIN",
      "dotty.c.dot.dotted.data.svc.clusterset.local A 10.4.0.10",
    ),
    ...onlyHere((pair) => pair.place.left.length > 0 && dottedSources(pair).length > 0),
    ours: (pair) => {
      const host = pair.place.left[0];
      const addresses = dottedSources(pair).flatMap(({ endpoints }) =>
        endpoints.filter((one) => isReady(one) && one.hostname === host).flatMap((one) => one.addresses),
      );
      if (!isType(pair, "A") || addresses.length === 0) return nodata("ours")(pair);
      return exactly("ours", () => positive(addresses.map((ip) => recordAt(pair, "A", ip))))(pair);
    },
  },
  {
    id: "no-source-cluster",
    title: "A headless service without source-cluster labels",
    corednsSays: "A and AAAA as with the label; no answer for SRV.",
    weSay: "NXDOMAIN, and a finding.",
    reason: "The label is needed (KEP-1645, Using EndpointSlice objects).",
    example: asked(
      "unlabelled.data.svc.clusterset.local A",
      "unlabelled.data.svc.clusterset.local A 10.8.1.1",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => isUnlabelledAlone(pair) && !isLax(pair) && pair.place.left.length !== 1),
  },
  {
    id: "half-labelled",
    title: "A headless service with some slices without the label",
    corednsSays: "All endpoints for A and AAAA.",
    weSay: "Those with the label.",
    reason: "As above.",
    example: asked(
      "half-labelled.data.svc.clusterset.local A",
      "half-labelled.data.svc.clusterset.local A 10.8.1.2\nhalf-labelled.data.svc.clusterset.local A 10.8.1.3",
      "half-labelled.data.svc.clusterset.local A 10.8.1.2",
    ),
    applies: (pair) =>
      pair.place.kind === "service" &&
      isType(pair, "A") &&
      unlabelledSlices(pair).length > 0 &&
      !isUnlabelledAlone(pair),
    coredns: exactly("coredns", (pair) => positive(readyRecords(pair, slicesOf(pair)))),
    ours: exactly("ours", (pair) =>
      positive(
        readyRecords(
          pair,
          slicesOf(pair).filter(({ source }) => source !== undefined),
        ),
      ),
    ),
  },
  {
    id: "empty-label-srv",
    title: "SRV where a slice has no source cluster",
    corednsSays: "No answer.",
    weSay: "The SRV records of the other slices.",
    reason: "A server must answer (RFC 8906 section 2).",
    example: asked(
      "_pg._tcp.empty-label.data.svc.clusterset.local SRV",
      "no answer",
      "_pg._tcp.empty-label.data.svc.clusterset.local SRV 0 5432 n0.cluster-a.empty-label.data.svc.clusterset.local\n  with n0.cluster-a.empty-label.data.svc.clusterset.local A 10.8.1.4",
    ),
    applies: (pair) =>
      isType(pair, "SRV") &&
      (pair.place.kind === "service" || (isPortName(pair) && pair.place.left[0] === "_pg")) &&
      !isUnlabelledAlone(pair) &&
      slicesOf(pair).some(({ source }) => !source) &&
      (pair.place.left[1] ?? "_tcp") === "_tcp",
    coredns: silent,
    ours: exactly("ours", (pair) => {
      const service = pair.place.labels.slice(pair.place.left.length).join(".");
      const answer = slicesOf(pair).flatMap(({ source, endpoints, ports }) =>
        endpoints.flatMap(({ hostname }) =>
          ports
            .filter(() => !!source)
            .map(({ port }) =>
              recordAt(pair, "SRV", `0 ${port} ${hostname}.${source}.${service}.clusterset.local`),
            ),
        ),
      );
      return positive(answer, additionalsFor(pair, answer));
    }),
  },
  {
    id: "hostname-without-cluster",
    title: "`<hostname>.<service>` where a slice has no source cluster",
    corednsSays: "The endpoint; for SRV no answer.",
    weSay: "NXDOMAIN.",
    reason: "There is nothing shorter (MCS 2.4.1).",
    example: asked(
      "n1.empty-label.data.svc.clusterset.local A",
      "n1.empty-label.data.svc.clusterset.local A 10.8.1.5",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => pair.place.left.length === 1 && slicesOf(pair).some(({ source }) => !source)),
  },
  {
    id: "host-name-slices",
    title: "A headless service with `addressType: FQDN`",
    corednsSays: "A CNAME to the host name.",
    weSay: "NXDOMAIN, and a finding.",
    reason: "MCS 2.4.1 has addresses only; several CNAMEs are forbidden (RFC 2181 section 10.1).",
    example: asked(
      "host-names.data.svc.clusterset.local A",
      "host-names.data.svc.clusterset.local CNAME host.example.com",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair) => isHostNamed(pair) && !isLax(pair)),
  },
];

function readyRecords(pair: Pair, slices: ReturnType<typeof slicesOf>) {
  return slices.flatMap(({ endpoints }) =>
    endpoints.filter(isReady).flatMap((one) => one.addresses.map((ip) => recordAt(pair, "A", ip))),
  );
}
