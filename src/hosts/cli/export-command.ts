import { Command, Option } from "commander";
import type { Output } from "../commands/process/output.ts";
import { repeat, seconds, speaksForOption } from "./flags.ts";

/** `clusterset-doh export`; passes its exit code to `setExitCode`. */
export function exportCommand(output: Output, setExitCode: (code: number) => void): Command {
  return new Command("export")
    .description("prints a federation's zone for external clients, for a DNS provider")
    .argument("<inputs...>", "one folder of manifests per cluster, or snapshot files (JSON)")
    .requiredOption("--federation <name>", "the federation's name, as in web.shop.<name>.svc.<domain>")
    .requiredOption("--domain <domain>", "the registered domain of the external zone")
    .addOption(
      new Option("--format <format>", "zone file, or ExternalDNS's DNSEndpoint objects as YAML")
        .choices(["zone", "dnsendpoint"])
        .default("zone"),
    )
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the folder's name)")
    .addOption(speaksForOption())
    .option("--ttl <seconds>", "TTL of the records", seconds, 60)
    .option(
      "--name-server <host>",
      "name server of the zone, for its SOA and NS records (default: ns.dns.<domain>); repeatable",
      repeat,
    )
    .option("--strict", "findings and conflicts fail the export, too")
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh export --federation prod --domain federation.example.com \\
      --name-server ns1.example.com clusters/cluster-a clusters/cluster-b > federation.example.com.zone
  clusterset-doh export --federation prod --domain federation.example.com --format dnsendpoint \\
      clusters/cluster-a clusters/cluster-b | kubectl apply -f -

Records go to stdout; problems, findings and conflicts to stderr. ExternalDNS reads the objects with
--source=crd; there is one for each service, labelled app.kubernetes.io/managed-by=clusterset-doh.
Exit codes: 0 exported, 1 nothing is printed: a manifest is broken, or with --strict there are findings or
conflicts, 2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { exportFederation } = await import("../commands/export/export.ts");
      setExitCode(await exportFederation(inputs, flags, output, Date.now()));
    });
}
