import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../test/e2e/processes.ts";
import { temporaryFolder } from "../../test/e2e/servers/folders.ts";
import { makeAuthority, makeServer, type PemPair } from "../../test/hosts/client-certificates.ts";
import { ASKED, LOADED_WORLD, loadedSnapshots, queryOf } from "../asked.ts";
import { pidOf } from "../cpu/contenders.ts";
import { CONNECTIONS, STREAMS } from "../cpu/h2load.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../cpu/process-cpu.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import type { Section } from "../report.ts";
import { type Contender, measureInTurns } from "../rounds.ts";
import { openLoad } from "./load.ts";
import { HOST_NAME, type Mode, makeModes } from "./modes.ts";

const REQUESTS = 20_000;
/** Node's compilers need this many before a query costs what it will cost from then on. */
const WARM_UP = 60_000;

/** What it costs to find out who asks. */
export const accessSection: Section = {
  name: "access",
  summary: "CPU time for each DoH query, by how clients show who they are",
  async measure({ rounds, share }, progress) {
    const authority = await makeAuthority("bench authority");
    const server = await makeServer(authority, [HOST_NAME, `*.${HOST_NAME}`], ["127.0.0.1"]);
    const queries = ASKED.map((index) => Buffer.from(queryOf(index)).toString("base64url"));
    const requests = REQUESTS * share;
    const stops: (() => unknown)[] = [];
    const contenders: Contender[] = [];
    try {
      for (const mode of await makeModes(authority)) {
        progress(`${mode.name}: starting a gateway and warming it up`);
        const gateway = await startWith(mode, authority, server);
        stops.push(() => gateway.stop());
        const load = await openLoad({ origin: gateway.url, ca: authority.cert, ...mode.asking });
        stops.unshift(load.close);
        await load.send(WARM_UP * share, queries);
        const pid = pidOf(gateway.process);
        const measure = async () => {
          const before = readThreadTimes(pid);
          await load.send(requests, queries);
          return cpuMicrosecondsSince(before, pid) / requests;
        };
        contenders.push({ name: mode.name, unit: "µs", measure });
      }
      const rows = await measureInTurns(contenders, rounds, progress);
      return [
        {
          title: "CPU time for each DoH query by who asks, GET over HTTP/2 with TLS",
          rows,
          baselines: ["public"],
          goals: [],
          notes: [
            `User and system time of a gateway of its own for each row, for ${requests.toLocaleString("en")} requests (${CONNECTIONS} connections that stay open, ${STREAMS} streams each): type A, ${ASKED.length} names in turn, ${LOADED_WORLD.services} services.`,
            "The scope is everything. Tokens are compared with all that the rule has; an OIDC token (RS256) is verified once and remembered until it expires.",
          ],
        },
      ];
    } finally {
      for (const stop of stops) await stop();
    }
  },
};

async function startWith(mode: Mode, authority: PemPair, server: PemPair): Promise<GatewayProcess> {
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
      // Connections wait while the others take their turns.
      limits: { idleSeconds: 3600 },
      tls: { certificateFile, keyFile, clientCaFile },
      access: mode.access,
    },
  });
  for (const snapshot of snapshots) await pushSnapshot(gateway, snapshot);
  return gateway;
}
