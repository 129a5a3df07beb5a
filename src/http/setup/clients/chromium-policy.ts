import { type ClientSetup, lacksAlias, otherNamesStep, trustStep } from "../client-setup.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { jsonFile, type SetupFile } from "../setup-file.ts";

/**
 * A managed policy of Chromium, Chrome and Edge. `secure`, because `automatic` uses a server only after it has resolved
 * www.gstatic.com, and falls back to the system's resolver for all names that the server refuses.
 */
export function chromiumPolicy({ resource }: SetupFacts): SetupFile {
  return jsonFile("clusterset-doh.json", {
    DnsOverHttpsMode: "secure",
    DnsOverHttpsTemplates: `${resource}{?dns}`,
  });
}

export const chromium: ClientSetup = {
  id: "chromium",
  title: "Chromium, Chrome, Edge",
  lacks: lacksAlias,
  steps: (facts) => [
    "Linux: put the file into `/etc/chromium/policies/managed` (Chromium) or `/etc/opt/chrome/policies/managed` (Chrome). Windows: set both values below `HKLM\\Software\\Policies\\Google\\Chrome`. macOS: use the profile for macOS instead. `chrome://policy` shows what arrived.",
    ...otherNamesStep(facts),
    ...trustStep(facts),
  ],
  files: [chromiumPolicy],
};
