import { isMapped, parseAddress } from "./address.ts";

/**
 * Reads the address that the first label of a folded wire name spells with dashes: `10-0-0-1`, or `2001-db8--1` for
 * IPv6 (DNS-based service discovery 1.0.1, section 2.6; IPv6 as CoreDNS does). Undefined for anything else, also for
 * IPv4-mapped addresses.
 */
export function readPodLabel(name: Uint8Array): Uint8Array | undefined {
  const label = String.fromCharCode(...name.subarray(1, 1 + name[0]!));
  const dashes = label.split("-").length - 1;
  const bytes = parseAddress(label.replaceAll("-", dashes === 3 && !label.includes("--") ? "." : ":"));
  return bytes === undefined || isMapped(bytes) ? undefined : bytes;
}
