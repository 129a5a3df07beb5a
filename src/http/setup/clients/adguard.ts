import { type ClientSetup, trustStep } from "../client-setup.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** An upstream for one zone in the syntax of AdGuard Home and AdGuard's dnsproxy. */
export function adguardUpstream({ zone, resource }: SetupFacts): SetupFile {
  return textFile("adguard-upstream.txt", [`[/${zone}/]${resource}`]);
}

export const adguard: ClientSetup = {
  id: "adguard",
  title: "AdGuard Home, dnsproxy",
  steps: (facts) => [
    "AdGuard Home: add the line to Settings, DNS settings, Upstream DNS servers, above the others.",
    `dnsproxy: \`--upstream='[/${facts.zone}/]${facts.resource}'\` in addition to your own \`--upstream\`.`,
    ...trustStep(facts),
  ],
  files: [adguardUpstream],
};
