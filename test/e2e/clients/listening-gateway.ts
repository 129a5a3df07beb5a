import { endpoints, exported, imported, port, snapshot } from "../../merge/fixtures.ts";
import { startGateway } from "../harness/processes.ts";
import { freePort } from "../servers/ports.ts";

/** A gateway with plain DNS and DNS over TLS, and `shop/web`, `shop/db` and `shop/big` of two clusters. */
export type ListeningGateway = Awaited<ReturnType<typeof startListeningGateway>>;

/** The zone that docs/how-to/plain-dns.md forwards; unlike `clusterset.local` all programs let it through. */
export const ZONE = "clusterset.example.org";
export const WEB = `web.shop.svc.${ZONE}`;
/** Its addresses outside. */
export const WEB_ADDRESSES = ["10.96.1.10", "10.96.2.10"];
export const DB = `db.shop.svc.${ZONE}`;
export const BIG = `big.shop.svc.${ZONE}`;
/** So many that they fit into no datagram of the usual size. */
export const BIG_SIZE = 300;
/** The certificate is for this name. */
export const DESIGNATED = "dns.example.org";

const CLUSTERS = ["cluster-a", "cluster-b"];
const WEB_PORTS = [port("https", 443)];

/** Starts it and pushes. @param more further settings; without `tls` there is no DNS over TLS */
export async function startListeningGateway(
  more: {
    readonly dns?: object;
    readonly dot?: object;
    readonly publicUrl?: string;
    readonly tls?: boolean;
    readonly config?: Record<string, unknown>;
    readonly env?: Record<string, string>;
  } = {},
) {
  const [dnsPort, viewPort, dotPort] = [await freePort(), await freePort(), await freePort()];
  const gateway = await startGateway({
    clusters: CLUSTERS,
    tls: more.tls ?? true,
    // Its clusterset IP is answered outside, though cluster-a alone exports the service.
    speaksFor: { "cluster-b": ["cluster-a"] },
    zones: [ZONE],
    leaseSeconds: 600,
    ...(more.env !== undefined && { env: more.env }),
    config: {
      dns: {
        listen: [`127.0.0.1:${dnsPort}`, { address: `127.0.0.1:${viewPort}`, view: "cluster-a" }],
        ...more.dns,
      },
      ...(more.tls !== false && {
        dot: { listen: [`127.0.0.1:${dotPort}`], ...more.dot },
        ddr: { name: DESIGNATED, addresses: ["127.0.0.1"] },
      }),
      ...(more.publicUrl !== undefined && { publicUrl: more.publicUrl, access: { public: true } }),
      ...more.config,
    },
  });
  for (const one of snapshots()) {
    const { status, text } = await gateway.push(one);
    if (status !== 200) throw new Error(`${status} ${text}`);
  }
  // The view is that of cluster-a.
  return { gateway, dnsPort, viewPort, dotPort };
}

export function snapshots() {
  const many = Array.from({ length: BIG_SIZE }, (_, index) => ({
    address: `10.3.${index >> 8}.${index & 255}`,
  }));
  const db = (network: string) =>
    exported({
      headless: true,
      ports: [port("pg", 5432)],
      endpoints: endpoints(
        { address: `10.${network}.0.1`, hostname: "db-0" },
        { address: `10.${network}.0.2`, hostname: "db-1" },
      ),
    });
  return [
    snapshot("cluster-a", {
      exports: {
        "shop/web": exported({ ports: WEB_PORTS }),
        "shop/db": db("1"),
        "shop/big": exported({ headless: true, endpoints: endpoints(...many) }),
      },
      imports: { "shop/web": imported({ ips: ["10.96.1.10", "fd00:96::10"], ports: WEB_PORTS }) },
    }),
    snapshot("cluster-b", {
      exports: { "shop/db": db("2") },
      imports: { "shop/web": imported({ ips: ["10.96.2.10"], ports: WEB_PORTS }) },
    }),
  ];
}
