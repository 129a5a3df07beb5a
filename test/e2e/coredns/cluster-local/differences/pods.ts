import {
  asked,
  type Difference,
  exactly,
  hasName,
  isType,
  nodata,
  onlyHere,
  onlyInCoreDns,
  positive,
  recordAt,
} from "../../differences/difference.ts";
import type { LocalPlace, PodMode } from "../place.ts";
import type { LocalPair } from "./facts.ts";

/** A difference whose example is one of a mode other than `disabled`. */
export type LocalDifference = Difference<LocalPlace> & { mode?: PodMode };

const isPod = ({ place }: LocalPair) => place.kind === "pod";

/** Differences that have to do with the names of pods. */
export const podDifferences: LocalDifference[] = [
  {
    id: "below-pod",
    mode: "insecure",
    title: "One or two labels below `a-b-c-d.<ns>.pod`",
    corednsSays: "The record of the pod.",
    weSay: "NXDOMAIN.",
    reason: "There is nothing below (DNS 2.6).",
    example: asked(
      "x.10-50-0-1.shop.pod.cluster.local A",
      "x.10-50-0-1.shop.pod.cluster.local A 10.50.0.1",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns((pair: LocalPair) => pair.place.kind === "below pod"),
  },
  {
    id: "srv-at-pod",
    mode: "insecure",
    title: "SRV at `a-b-c-d.<ns>.pod`",
    corednsSays: "Port 0, the name itself as the target.",
    weSay: "NODATA.",
    reason: "There are addresses only (DNS 2.6).",
    example: asked(
      "10-50-0-1.shop.pod.cluster.local SRV",
      "10-50-0-1.shop.pod.cluster.local SRV 0 0 10-50-0-1.shop.pod.cluster.local\n  with 10-50-0-1.shop.pod.cluster.local A 10.50.0.1",
      "NODATA",
    ),
    applies: (pair) =>
      isPod(pair) && isType(pair, "SRV") && hasName("coredns", pair) && hasName("ours", pair),
    coredns: exactly<LocalPlace>("coredns", (pair) => {
      const own = pair.question.name.toLowerCase();
      const addresses = ["A", "AAAA"].flatMap((type) => pair.all.at(own, type)?.coredns.answer ?? []);
      return positive([recordAt(pair, "SRV", `0 0 ${own}`)], addresses);
    }),
    ours: nodata("ours"),
  },
  {
    id: "mapped-pod",
    mode: "insecure",
    title: "A pod name of a mapped address (`--ffff-a32-1`)",
    corednsSays: "The IPv4 address, unverified.",
    weSay: "NXDOMAIN.",
    reason: "No pod has a mapped address (DNS 2.6).",
    example: asked(
      "--ffff-a32-1.shop.pod.cluster.local A",
      "--ffff-a32-1.shop.pod.cluster.local A 10.50.0.1",
      "NXDOMAIN",
    ),
    ...onlyInCoreDns(
      ({ place }: LocalPair) => place.kind === "pod" && place.labels[0]!.startsWith("--ffff-"),
    ),
  },
  {
    id: "pod-zero",
    mode: "verified",
    title: "A pod whose address ends in `::`, with a zero (`fd00-50--0`)",
    corednsSays: "NXDOMAIN.",
    weSay: "The address at both names.",
    reason: "A host name does not end in a dash (RFC 1123 section 2.1).",
    example: asked(
      "fd00-50--0.shop.pod.cluster.local AAAA",
      "NXDOMAIN",
      "fd00-50--0.shop.pod.cluster.local AAAA fd00:50::",
    ),
    ...onlyHere(
      ({ place }: LocalPair) => place.pods === "verified" && place.labels.join(".") === "fd00-50--0.shop.pod",
    ),
    ours: (pair) =>
      isType(pair, "AAAA")
        ? exactly<LocalPlace>("ours", () => positive([recordAt(pair, "AAAA", "fd00:50::")]))(pair)
        : nodata("ours")(pair),
  },
];
