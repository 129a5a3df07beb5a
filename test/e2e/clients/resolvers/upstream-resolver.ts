import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CoreDns, startCoreDns } from "../../servers/coredns.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

/** The TTL of short.example.com and of what does not exist, in seconds. */
const SHORT_TTL = 2;

/**
 * Starts a CoreDNS over HTTPS that answers as a resolver of the whole Internet would, from files: `.` and the
 * zone example.com.
 */
export async function startResolver(): Promise<CoreDns> {
  const folder = temporaryFolder("zones");
  const root = join(folder, "root.zone");
  writeFileSync(
    root,
    `$ORIGIN .
@ 3600 IN SOA a.root-servers.net. nstld.example.net. 1 1800 900 604800 ${SHORT_TTL}
@ 3600 IN NS a.root-servers.net.
a.root-servers.net. 3600 IN A 198.41.0.4
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
who 300 IN A 192.0.2.1
short ${SHORT_TTL} IN A 192.0.2.1
www 300 IN CNAME web
web 300 IN A 192.0.2.81
`,
  );
  return startCoreDns([`file ${example} example.com`, `file ${root} .`, "log"], {
    name: "resolver",
    doh: true,
  });
}
