import { Command, Option } from "commander";
import type { Output } from "../commands/process/output.ts";
import { clusterZoneOptions, pinOptions, repeat, speaksForOption } from "./flags.ts";

/** `clusterset-doh check`; passes its exit code to `setExitCode`. */
export function checkCommand(output: Output, setExitCode: (code: number) => void): Command {
  const command = new Command("check")
    .description("prints the records that manifests or snapshots result in")
    .argument("<inputs...>", "one folder of manifests per cluster, or snapshot files (JSON)")
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the folder's name)")
    .option("--view <cluster>", "print what this cluster sees (default: what clients outside see)")
    .option(
      "--zone <zone>",
      "name of the clusterset zone (default: clusterset.local), or another zone to print alone; repeatable, the first owns PTR targets",
      repeat,
    )
    .option(
      "--federation <name[=zone[,domain]]>",
      "a federation to print: its zone for clusters (default: federation) and its registered domain; repeatable",
      repeat,
    );
  command.addOption(speaksForOption());
  for (const option of pinOptions()) command.addOption(option);
  for (const option of clusterZoneOptions()) command.addOption(option);
  return command
    .addOption(
      new Option("--format <format>", "zone file, or JSON with conflicts and findings in it")
        .choices(["zone", "json"])
        .default("zone"),
    )
    .option("--strict", "conflicts fail the check, too")
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh check --strict clusters/cluster-a clusters/cluster-b > clusterset.zone
  clusterset-doh check --cluster-zone cluster.local --view cluster-a --zone cluster.local clusters/cluster-a
  clusterset-doh check --federation prod=federation,federation.example.com clusters/cluster-a clusters/cluster-b
  clusterset-doh check --speaks-for 'hub=*' clusters/hub clusters/cluster-a

Records go to stdout; problems, findings and conflicts to stderr. The clusterset zone comes first, then those
of federations, then those of single clusters, each of these after a comment that names it. --zone with the
name of one of these prints the named zones only. --cluster-zone is for manifests; a snapshot has its own.
As in serve, a cluster needs a grant to import from other clusters, and to import services that it does not export.
Without a grant that is left out, with a finding. --speaks-for grants it.
Exit codes: 0 all that is exported is served, 1 problems or findings (with --strict also conflicts),
2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { check } = await import("../commands/check/check.ts");
      setExitCode(await check(inputs, flags, output));
    });
}
