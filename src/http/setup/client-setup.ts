import type { SetupFacts } from "./setup-facts.ts";
import type { SetupFile } from "./setup-file.ts";

/** How one client is set up. */
export interface ClientSetup {
  /** For links within a page. */
  readonly id: string;
  readonly title: string;
  /** In a sentence or two: what has to be switched on before this client can use the gateway. Undefined where it can. */
  readonly lacks?: (facts: SetupFacts) => string | undefined;
  /** What a person does with the files, a sentence or two each. */
  readonly steps: (facts: SetupFacts) => readonly string[];
  readonly files: readonly ((facts: SetupFacts) => SetupFile | Promise<SetupFile>)[];
}

/** What stands in a file for an address that is not known here. */
const UNKNOWN_ADDRESS = "GATEWAY_ADDRESS";

/** The address that a client reaches the gateway by, at a port of its own where that listens on one address only. */
export function gatewayAddress(facts: SetupFacts, at?: { readonly address: string | undefined }): string {
  return at?.address ?? facts.addresses[0] ?? UNKNOWN_ADDRESS;
}

/** The step that files with `gatewayAddress` need; none where the address is known. */
export function addressStep(facts: SetupFacts, at?: { readonly address: string | undefined }): string[] {
  return gatewayAddress(facts, at) === UNKNOWN_ADDRESS
    ? [`Replace \`${UNKNOWN_ADDRESS}\` by the IP address of ${facts.host}.`]
    : [];
}

/** Why browsers and Apple's systems cannot use a zone: they keep `.local` for multicast DNS (RFC 6762). */
export function lacksAlias({ zone }: SetupFacts): string | undefined {
  return /(?:^|\.)local$/.test(zone)
    ? "Names that end in .local never leave this client by DNS over HTTPS (RFC 6762). Serve an alias zone, such as clusterset.test or a domain of yours (setting `zones`), and choose it above."
    : undefined;
}

/** How the certificate comes to a client that keeps trusted ones in one place. */
export function trustStep({ isSelfSigned }: SetupFacts): string[] {
  return isSelfSigned
    ? ["The gateway's certificate is self-signed: make this client trust `certificate.crt` (below) first."]
    : [];
}

/** What a client that asks the gateway for every name sees of the other names. */
export function otherNamesStep({ outside, zone }: SetupFacts): string[] {
  return outside === "forward"
    ? []
    : [
        `This gateway answers its own zones only, and this client sends it every name: with this file it resolves ${zone} and nothing else. Set \`outsideZones\` to \`forward\`, or use the file in a profile or machine of its own.`,
      ];
}
