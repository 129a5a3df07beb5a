import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../test/e2e/harness/processes.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { makeAuthority, makeServer, type PemPair } from "../../test/hosts/client-certificates.ts";
import { pidOf } from "../cpu/contenders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import { loadedSnapshots } from "../worlds/asked.ts";
import { openLoad } from "./load.ts";
import { HOST_NAME, type Mode } from "./modes.ts";

/** The authority of servers and clients, and the gateways' certificate. */
export interface Certificates {
  readonly authority: PemPair;
  readonly server: PemPair;
}

export async function makeCertificates(): Promise<Certificates> {
  const authority = await makeAuthority("bench authority");
  return { authority, server: await makeServer(authority, [HOST_NAME, `*.${HOST_NAME}`], ["127.0.0.1"]) };
}

/** A gateway that is asked in one way, over connections that stay open. */
export interface AskedGateway {
  /** Microseconds of CPU time that each of so many queries takes, asked in turn. */
  readonly measure: (requests: number, queries: readonly string[]) => Promise<number>;
  readonly stop: () => Promise<unknown>;
}

export async function startAsked(
  { access, asking }: Pick<Mode, "access" | "asking">,
  { authority, server }: Certificates,
): Promise<AskedGateway> {
  const gateway = await startWith(access, authority, server);
  const load = await openLoad({ origin: gateway.url, ca: authority.cert, ...asking });
  const pid = pidOf(gateway.process);
  return {
    async measure(requests, queries) {
      const before = readThreadTimes(pid);
      await load.send(requests, queries);
      return cpuMicrosecondsSince(before, pid) / requests;
    },
    stop: () => {
      load.close();
      return gateway.stop();
    },
  };
}

async function startWith(access: object, authority: PemPair, server: PemPair): Promise<GatewayProcess> {
  const folder = temporaryFolder("access");
  const clientCaFile = join(folder, "clients.crt");
  const certificateFile = join(folder, "server.crt");
  const keyFile = join(folder, "server.key");
  writeFileSync(clientCaFile, authority.cert);
  writeFileSync(certificateFile, server.cert);
  writeFileSync(keyFile, server.key, { mode: 0o600 });
  const snapshots = loadedSnapshots();
  const gateway = await startGateway({
    clusters: snapshots.map(({ clusterId }) => clusterId),
    certificate: { ...server, ca: authority.cert },
    config: {
      ...LONG_LEASES,
      threads: 1,
      // Connections wait while the others take their turns.
      limits: { idleSeconds: 3600 },
      tls: { certificateFile, keyFile, clientCaFile },
      access,
    },
  });
  for (const snapshot of snapshots) await pushSnapshot(gateway, snapshot);
  return gateway;
}
