import { type Forward, upstreamName } from "../../../config/forward.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import { padded, type Upstream } from "../../../forward/upstream.ts";
import { readToken, type WatchedFiles, watchFile } from "../files.ts";
import { readCertificates } from "../tls.ts";
import { createDohUpstream } from "./doh-upstream.ts";
import { createPlainUpstream } from "./plain-upstream.ts";

/** Opens what the files of a setting hold. @throws {UsageError} naming the file that cannot be read */
async function openAccess(
  files: WatchedFiles,
  { caFile, tokenFile }: { caFile?: string | undefined; tokenFile?: string | undefined },
) {
  return {
    ca: await watchFile(caFile, readCertificates, files),
    token: await watchFile(tokenFile, readToken, files),
  };
}

/**
 * Opens the connections to the upstreams that are configured: DNS over HTTPS, and plain DNS.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openUpstreams(forward: Forward, files: WatchedFiles) {
  const upstreams = await Promise.all(
    forward.upstreams.map(async (configured) => {
      const { ca, token } = await openAccess(files, configured);
      const name = upstreamName(configured);
      const place = parseNameserver(configured.server)!;
      if (place.kind === "plain") return createPlainUpstream(name, place, forward);
      const { addresses } = configured;
      const { serverMilliseconds: timeout, queriesInFlight } = forward;
      const access = { ca, token, addresses, timeout, queriesInFlight };
      return padded(createDohUpstream(name, place.url, access));
    }),
  );
  return {
    upstreams,
    close: () => {
      for (const upstream of upstreams) upstream.close();
    },
  };
}

/**
 * What connects to the name servers of stub zones. Certificates and tokens belong to an origin of the config,
 * so a registered stub zone cannot send a token elsewhere.
 * @returns connects to a name server, and throws a {UsageError} for an invalid one
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openConnector(
  {
    upstreams: configured,
    serverMilliseconds: timeout,
    queriesInFlight,
  }: Pick<ServeConfig["stub"], "upstreams" | "serverMilliseconds" | "queriesInFlight">,
  files: WatchedFiles,
): Promise<(nameserver: string) => Upstream> {
  const byOrigin = new Map<string, Awaited<ReturnType<typeof openAccess>>>();
  for (const access of configured)
    byOrigin.set(new URL(access.origin).origin, await openAccess(files, access));
  return (nameserver) => {
    const place = parseNameserver(nameserver);
    if (place === undefined) throw new UsageError(`${JSON.stringify(nameserver)} is not a name server`);
    if (place.kind === "plain") return createPlainUpstream(nameserver, place);
    const none = { ca: () => undefined, token: () => undefined };
    return createDohUpstream(nameserver, place.url, {
      ...(byOrigin.get(place.url.origin) ?? none),
      timeout,
      queriesInFlight,
    });
  };
}
