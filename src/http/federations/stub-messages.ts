import * as z from "zod";
import { parseNameserver } from "../../forward/nameserver.ts";

/** The most name servers of one federation. */
const MOST_NAMESERVERS = 16;

/** A federation's name: one label of a DNS name, in lower case (RFC 1123). */
export const FederationName = z
  .string()
  .regex(
    /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/,
    "must be one label of a DNS name: a-z, 0-9 and -, at most 63 characters",
  );

const NameserverText = z
  .string()
  .refine(
    (text) => parseNameserver(text) !== undefined,
    "must be an IP address, IPv4:port, [IPv6]:port, or an https:// URL such as https://dns.example.org/dns-query",
  );

/** Body of `POST /federations/{name}`. */
export const StubRequest = z.strictObject({
  nameservers: z
    .array(NameserverText)
    .min(1, "must have at least one name server")
    .max(MOST_NAMESERVERS, `must have at most ${MOST_NAMESERVERS} name servers`)
    .refine((list) => new Set(list).size === list.length, "must not have the same name server twice"),
});
