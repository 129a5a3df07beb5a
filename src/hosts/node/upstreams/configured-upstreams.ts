import { type Forward, upstreamName } from "../../../config/forward.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import { padded, type Upstream } from "../../../forward/upstream.ts";
import { readToken } from "../files.ts";
import { readCertificates } from "../tls.ts";
import { createDohUpstream } from "./doh-upstream.ts";
import { createPlainUpstream } from "./plain-upstream.ts";

/** Opens what the files of a setting hold. @throws {UsageError} naming the file that cannot be read */
async function openAccess({
  caFile,
  tokenFile,
}: {
  caFile?: string | undefined;
  tokenFile?: string | undefined;
}) {
  let token: string | undefined;
  const refresh = async () => {
    if (tokenFile !== undefined) token = await readToken(tokenFile);
  };
  await refresh();
  return {
    ca: caFile === undefined ? undefined : await readCertificates(caFile),
    token: () => token,
    refresh,
  };
}

/**
 * Opens the connections to the upstreams that are configured: DNS over HTTPS, and plain DNS.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openUpstreams(forward: Forward) {
  const opened = await Promise.all(
    forward.upstreams.map(async (configured) => {
      const access = await openAccess(configured);
      const name = upstreamName(configured);
      const place = parseNameserver(configured.server)!;
      const upstream =
        place.kind === "plain"
          ? createPlainUpstream(name, place, forward)
          : padded(createDohUpstream(name, place.url, { ...access, addresses: configured.addresses }));
      return { upstream, access };
    }),
  );
  return {
    upstreams: opened.map(({ upstream }) => upstream),
    /** Reads token files again. @throws {UsageError} naming the one that cannot be read */
    refresh: async () => {
      for (const { access } of opened) await access.refresh();
    },
    close: () => {
      for (const { upstream } of opened) upstream.close();
    },
  };
}

/** What connects to the name servers of stub zones. */
export type UpstreamConnector = Awaited<ReturnType<typeof openConnector>>;

/**
 * Opens what connects to name servers. Certificates and tokens belong to an origin of the config, so a registered stub
 * zone cannot send a token elsewhere.
 * @throws {UsageError} naming the file that cannot be read
 */
export async function openConnector(configured: ServeConfig["stub"]["upstreams"]) {
  const byOrigin = new Map<string, Awaited<ReturnType<typeof openAccess>>>();
  for (const files of configured) byOrigin.set(new URL(files.origin).origin, await openAccess(files));
  return {
    /** Reads the token files again. @throws {UsageError} naming the unreadable one */
    refresh: async () => {
      for (const access of byOrigin.values()) await access.refresh();
    },
    /** @throws {UsageError} for an invalid name server */
    connect: (nameserver: string): Upstream => {
      const place = parseNameserver(nameserver);
      if (place === undefined) throw new UsageError(`${JSON.stringify(nameserver)} is not a name server`);
      if (place.kind === "plain") return createPlainUpstream(nameserver, place);
      const none = { ca: undefined, token: () => undefined };
      return createDohUpstream(nameserver, place.url, byOrigin.get(place.url.origin) ?? none);
    },
  };
}
