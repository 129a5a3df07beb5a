import { zoneDifferences } from "../../differences/zone.ts";
import { localZone } from "../questions.ts";
import { aliasDifferences } from "./aliases.ts";
import { endpointDifferences } from "./endpoints.ts";
import { type LocalDifference, podDifferences } from "./pods.ts";
import { portDifferences } from "./ports.ts";
import { reverseDifferences } from "./reverse.ts";

/** The differences that the clusterset zone has as well, for the same reasons. */
export const sharedDifferences: readonly LocalDifference[] = zoneDifferences({
  zone: localZone,
  version: "1.0.1",
  versionReason: "DNS 2.2 asks for the version of the schema, which is 1.0.1 (DNS 1).",
  emptyReason:
    "A name exists if it or a name below it has records (RFC 4592 section 2.2.3), and none of these has.",
});

/** The others, by subject. */
export const localChapters: readonly { title: string; differences: readonly LocalDifference[] }[] = [
  { title: "Ports and SRV in a cluster's own zone", differences: portDifferences },
  { title: "Endpoints in a cluster's own zone", differences: endpointDifferences },
  { title: "Services of type ExternalName", differences: aliasDifferences },
  { title: "Pods", differences: podDifferences },
  { title: "Reverse names in a cluster's view", differences: reverseDifferences },
];

/** Every way in which the gateway answers otherwise than CoreDNS 1.15 for a cluster's own zone. */
export const localDifferences: readonly LocalDifference[] = [
  ...sharedDifferences,
  ...localChapters.flatMap((chapter) => chapter.differences),
];
