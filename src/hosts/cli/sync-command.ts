import { Command, Option } from "commander";
import { endOnUncaught, stopSignal } from "../commands/process.ts";
import { createLogger } from "../node/process.ts";
import { clusterZoneOptions, logLevel, repeat, seconds, withOptions } from "./flags.ts";

/** `clusterset-doh sync`. */
export function syncCommand(): Command {
  const command = new Command("sync")
    .description("starts the sync worker: watches one cluster and pushes it to gateways")
    .requiredOption(
      "--gateway <url>",
      "a gateway's address, such as https://doh.example:8443; repeatable",
      repeat,
    )
    .option("--token-file <file>", "file with the cluster's token; read again when it changes")
    .option("--client-cert-file <file>", "the cluster's client certificate chain in PEM")
    .option("--client-key-file <file>", "its private key in PEM; both are read again when they change")
    .option(
      "--kubeconfig <file>",
      "kubeconfig to use (default: $KUBECONFIG, else ~/.kube/config, else the pod's service account)",
    )
    .option("--context <name>", "context of the kubeconfig")
    .option("--manifests <dir>", "read manifests from a folder instead of an API server, and watch it")
    .option(
      "--allow-broken",
      "with --manifests: push what can be read although a file is broken at the start",
    )
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the UID of kube-system)")
    .option(
      "--instance <name>",
      "the name of what is read: gateways take pushes of one at a time (default: of the cluster, else of host and folder)",
    )
    .option("--ca-file <file>", "certificates in PEM to trust for the gateways, such as a self-signed one")
    .option(
      "--lease <seconds>",
      "how long gateways answer for the cluster after the worker's last request (default: 60)",
      seconds,
    )
    .option(
      "--stale-after <seconds>",
      "how long the worker renews its lease while it cannot read the API server (default: 900)",
      seconds,
    )
    .option(
      "--listen <host:port>",
      "serve /healthz, /readyz and /metrics over HTTP here, such as :8080 (default: nowhere)",
    )
    .option(
      "--control [mode]",
      "also write what other clusters export into this cluster (ServiceImports, Services, EndpointSlices); =plan prints the changes and exits",
    )
    .option(
      "--control-namespace <namespace>",
      "where the Lease of the writing worker is (default: the pod's, else clusterset-doh)",
    )
    .option(
      "--clusterset <name>",
      "with --control: also write the ClusterProperties of this cluster: its id, and this name of its clusterset",
    )
    .option("--once", "push once, then exit");
  return withOptions(command, ...clusterZoneOptions())
    .addOption(
      new Option(
        "--node-addresses <type>",
        "also report the node ports of exported Services, with addresses of this type of ready nodes: for clusters that others reach by their nodes",
      ).choices(["InternalIP", "ExternalIP"]),
    )
    .addOption(logLevel().default("info"))
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh sync --gateway https://doh.example:8443 --token-file cluster-a.token --context cluster-a
  clusterset-doh sync --manifests ./clusters/cluster-a --cluster-id cluster-a --once \\
      --gateway https://localhost:8443 --ca-file .clusterset-doh/tls/self-signed.crt --token-file cluster-a.token
  clusterset-doh sync --gateway https://doh.example:8443 --token-file cluster-a.token --context cluster-a \\
      --cluster-id cluster-a --control=plan

With --cluster-zone the worker pushes all Services of the cluster, and gateways answer them to this cluster's clients
only. --pods verified needs to list and watch pods: infra/kubernetes/sync-worker/components/cluster-local has the rule.

Stops cleanly on SIGTERM; the gateways answer for the cluster until its lease expires.
Exit codes: 0 stopped or pushed, 1 failed, 2 wrong options.`,
    )
    .action(async (flags) => {
      const { sync } = await import("../commands/sync.ts");
      const logger = createLogger("sync", flags.logLevel);
      const disarm = endOnUncaught(logger);
      await sync(flags, logger, stopSignal(logger));
      disarm();
    });
}
