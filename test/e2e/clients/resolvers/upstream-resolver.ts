import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CoreDns, startCoreDns } from "../../servers/coredns.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

/** The zones that stand for the Internet, as what is resolved from them. */
export interface ResolverOptions {
  /** Distinguishes resolvers: the address of who.example.com. */
  address: string;
  /** Over HTTPS, too. */
  doh?: boolean;
}

/** Strings of a TXT record that fits into no datagram. */
export const LARGE_TEXT = Array.from({ length: 12 }, (_, index) =>
  String.fromCharCode(97 + index).repeat(200),
);

/** The TTL of short.example.com and of what does not exist, in seconds. */
export const SHORT_TTL = 2;

/** Starts a CoreDNS that answers as a resolver of the whole Internet would, from files: `.` and the zone example.com. */
export async function startResolver({ address, doh = false }: ResolverOptions): Promise<CoreDns> {
  const folder = temporaryFolder("zones");
  const root = join(folder, "root.zone");
  writeFileSync(
    root,
    `$ORIGIN .
@ 3600 IN SOA a.root-servers.net. nstld.example.net. 1 1800 900 604800 ${SHORT_TTL}
@ 3600 IN NS a.root-servers.net.
a.root-servers.net. 3600 IN A 198.41.0.4
www.gstatic.com. 300 IN A 203.0.113.80
8.113.0.198.in-addr.arpa. 300 IN PTR www.example.com.
`,
  );
  const example = join(folder, "example.com.zone");
  writeFileSync(
    example,
    `$ORIGIN example.com.
@ 300 IN SOA ns hostmaster 1 1800 900 604800 ${SHORT_TTL}
@ 300 IN NS ns
@ 300 IN A 192.0.2.80
ns 300 IN A 192.0.2.53
who 300 IN A ${address}
who${address.at(-1)} 300 IN A ${address}
short ${SHORT_TTL} IN A ${address}
www 300 IN CNAME web
web 300 IN A 192.0.2.81
web 300 IN AAAA 2001:db8::81
mail 300 IN MX 10 mx.example.net.
large 300 IN TXT ${LARGE_TEXT.map((text) => `"${text}"`).join(" ")}
`,
  );
  return startCoreDns([`file ${example} example.com`, `file ${root} .`, "log"], { name: "resolver", doh });
}
