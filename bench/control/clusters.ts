import { exported } from "../../test/e2e/commands/exported.ts";
import { startGateway } from "../../test/e2e/harness/processes.ts";
import { startApiServer } from "../../test/e2e/servers/kubernetes/api-server.ts";
import { namespace } from "../../test/e2e/servers/kubernetes/objects.ts";
import { addressOf } from "../change/changing-objects.ts";
import { Poller } from "../change/poll.ts";
import type { Stop } from "../processes/stops.ts";
import { LONG_LEASES } from "../push.ts";
import { ControlWorker } from "./control-worker.ts";

/** Time between an answer and the next query, in milliseconds. */
const PAUSE = 1;

/** Two clusters, their workers, the gateway between them, and what asks it. */
export type Clusters = Awaited<ReturnType<typeof startClusters>>;

/** `a` exports the service that changes; `b` imports it. */
export async function startClusters(stops: Stop[]) {
  const start = async (name: string) => {
    const server = await startApiServer({ name });
    stops.push(() => server.stop());
    await server.admin.apply(namespace("changing"));
    return server;
  };
  const [a, b] = [await start("a"), await start("b")];
  await a.admin.apply(
    ...exported("changing", "db", {
      headless: true,
      endpoints: [addressOf(0)],
      spec: { ipFamilies: ["IPv4"] },
    }),
  );
  const gateway = await startGateway({ clusters: ["a", "b"], control: ["a", "b"], config: LONG_LEASES });
  stops.push(() => gateway.kill());
  const exporter = await ControlWorker.start("a", a, gateway, stops);
  const importer = await ControlWorker.start("b", b, gateway, stops);
  const poller = new Poller(`${gateway.url}/dns-query`, gateway.ca, PAUSE);
  stops.push(() => poller.close());
  return { a, b, gateway, exporter, importer, poller };
}
