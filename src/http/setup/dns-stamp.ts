import { inUrl, type SetupFacts } from "./setup-facts.ts";

const DOH = 0x02;
/** The gateway logs no queries and filters nothing; it does not validate DNSSEC, which would be 1. */
const NO_LOGS = 2;
const NO_FILTER = 4;

/**
 * The DNS stamp of a DoH server (draft-denis-dns-stamps): protocol, properties (64 bits, little-endian), address, hashes of
 * certificates, host, path. It has no hash: the client verifies the certificate like a browser.
 */
export function dnsStamp({ host, port, addresses, prefix }: SetupFacts): string {
  const bytes = [
    DOH,
    ...[NO_LOGS | NO_FILTER, 0, 0, 0, 0, 0, 0, 0],
    // Without the port, which follows the host; dnscrypt-proxy rejects it here.
    ...prefixed(inUrl(addresses[0] ?? "")),
    ...prefixed(""),
    ...prefixed(`${inUrl(host)}${port === 443 ? "" : `:${port}`}`),
    ...prefixed(`${prefix}/dns-query`),
  ];
  const base64 = btoa(String.fromCharCode(...bytes));
  return `sdns://${base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Text with its length before it: at most 127 bytes for an entry of a hash list, else 255. */
function prefixed(text: string): number[] {
  const bytes = [...new TextEncoder().encode(text)];
  return [bytes.length, ...bytes];
}
