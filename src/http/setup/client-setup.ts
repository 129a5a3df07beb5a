import type { SetupFacts } from "./setup-facts.ts";
import type { SetupFile } from "./setup-file.ts";

/** The instructions for one client. */
export interface ClientSetup {
  /** The anchor for links on a page. */
  readonly id: string;
  readonly title: string;
  /** One or two sentences: the setting that this client needs before it can use the gateway. Undefined if it needs none. */
  readonly lacks?: (facts: SetupFacts) => string | undefined;
  /** The steps with the files, one or two sentences each. */
  readonly steps: (facts: SetupFacts) => readonly string[];
  readonly files: readonly ((facts: SetupFacts) => SetupFile | Promise<SetupFile>)[];
}

/** The placeholder in a file for an unknown address. */
const UNKNOWN_ADDRESS = "GATEWAY_ADDRESS";

/** The address of the gateway for a client: that of the port's listener, if it listens on only one address. */
export function gatewayAddress(facts: SetupFacts, at?: { readonly address: string | undefined }): string {
  return at?.address ?? facts.addresses[0] ?? UNKNOWN_ADDRESS;
}

/** The step that files with `gatewayAddress` need; none if the address is known. */
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

/** The step for clients with one store of trusted certificates. */
export function trustStep({ isSelfSigned }: SetupFacts): string[] {
  return isSelfSigned
    ? ["The gateway's certificate is self-signed: make this client trust `certificate.crt` (below) first."]
    : [];
}

/** A note about other names, for a client that sends all queries to the gateway. */
export function otherNamesStep({ outside, zone }: SetupFacts): string[] {
  return outside === "forward"
    ? []
    : [
        `This gateway answers its own zones only, and this client sends it every name: with this file it resolves ${zone} and nothing else. Set \`outsideZones\` to \`forward\`, or use the file in a separate profile or on a separate machine.`,
      ];
}
