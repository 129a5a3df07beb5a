import { zone } from "../questions.ts";
import { addressDifferences } from "./addresses.ts";
import type { Difference } from "./difference.ts";
import { endpointDifferences } from "./endpoints.ts";
import { portDifferences } from "./ports.ts";
import { reverseDifferences } from "./reverse.ts";
import { zoneDifferences } from "./zone.ts";

/** Every way in which the gateway answers otherwise than CoreDNS 1.15, by subject. */
export const chapters: readonly { title: string; differences: readonly Difference[] }[] = [
  {
    title: "Zone and types",
    differences: zoneDifferences({
      zone,
      version: "1.0.0",
      versionReason: "MCS 2.2, MCS 1.",
      emptyReason: "A name exists if it or a name below has records (RFC 4592 section 2.2.3).",
    }),
  },
  { title: "Ports and SRV", differences: portDifferences },
  { title: "ClusterSetIP addresses", differences: addressDifferences },
  { title: "Headless endpoints", differences: endpointDifferences },
  { title: "Reverse names", differences: reverseDifferences },
];

/** All of them. */
export const differences: readonly Difference[] = chapters.flatMap((chapter) => chapter.differences);
