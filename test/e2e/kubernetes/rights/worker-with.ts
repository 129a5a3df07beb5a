import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../../harness/processes.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import { requestToken } from "../../servers/kubernetes/service-account.ts";
import { federation } from "./resource-cases.ts";
import { accountWithout, modeOf, type Right, resourceName } from "./right.ts";

/** One line of the worker's log. */
export interface LogLine {
  level: string;
  msg: string;
  code?: string;
  resource?: string;
  group?: string;
}

/** A worker as a folder of `infra/kubernetes` runs it, with an account and a gateway of its own. */
export interface Worker {
  /** The right that it lacks; undefined where it has all of them. */
  without: Right | undefined;
  gateway: GatewayProcess;
  log(): LogLine[];
  /** The resources that RBAC refused something of, by their names with the group. */
  refused(): string[];
  /** The resources that were listed to their end. */
  listed(): string[];
  /** Stops both; resolves with the worker's exit code. */
  stop(): Promise<number | null>;
}

let variants = 0;

/** Starts a worker that has all rights of `folder` but one; the ClusterProperty has to name the cluster `east`. */
export async function startWorkerWithout(
  server: ApiServer,
  folder: string,
  without?: Right,
): Promise<Worker> {
  const objects = accountWithout(folder, without, String(++variants));
  const account = objects.find(({ kind }) => kind === "ServiceAccount")?.metadata;
  if (account?.namespace === undefined) throw new Error(`${folder} has no ServiceAccount in a namespace`);
  const [gateway] = await Promise.all([
    startGateway({ clusters: ["east"], config: { federations: [{ name: federation }] } }),
    server.admin.apply(...objects),
  ]);
  const kubeconfig = server.kubeconfig(await requestToken(server.admin, account.namespace, account.name));
  const tokenFile = gateway.tokenFileFor("east");
  const sync: SyncProcess = startSync({ kubeconfig, gateways: [gateway], tokenFile, args: modeOf(folder) });
  const log = () => linesOf(sync.log());
  const resourcesOf = (matches: (line: LogLine) => boolean) => [
    ...new Set(
      log()
        .filter(matches)
        .map(({ resource = "", group = "" }) => resourceName({ resource, group })),
    ),
  ];
  return {
    without,
    gateway,
    log,
    refused: () => resourcesOf(({ code }) => code === "RBAC_FORBIDDEN"),
    listed: () => resourcesOf(({ msg }) => msg === "listed").sort(),
    stop: async () => {
      const code = await sync.stop();
      await gateway.stop();
      return code;
    },
  };
}

function linesOf(log: string): LogLine[] {
  // The last line may be half written.
  const lines = log.slice(0, log.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as LogLine);
}
