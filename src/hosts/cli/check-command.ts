import { Command, Option } from "commander";
import type { Output } from "../output.ts";
import { repeat } from "./flags.ts";

/** `clusterset-doh check`; `setExitCode` takes what it found. */
export function checkCommand(output: Output, setExitCode: (code: number) => void): Command {
  return new Command("check")
    .description("prints the records that manifests or snapshots would be served as")
    .argument("<inputs...>", "one folder of manifests per cluster, or snapshot files (JSON)")
    .option("--cluster-id <id>", "the cluster's id (default: ClusterProperty, else the folder's name)")
    .option("--view <cluster>", "print what this cluster sees (default: what askers outside see)")
    .option(
      "--zone <zone>",
      "zone to print (default: clusterset.local); repeatable, the first owns PTR targets",
      repeat,
    )
    .addOption(
      new Option("--format <format>", "zone file, or JSON with conflicts and findings in it")
        .choices(["zone", "json"])
        .default("zone"),
    )
    .option("--strict", "conflicts fail the check too")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh check --strict clusters/cluster-a clusters/cluster-b > clusterset.zone

Records go to stdout; problems, findings and conflicts to stderr.
Exit codes: 0 all that is exported is served, 1 problems or findings (with --strict also conflicts),
2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { check } = await import("../check.ts");
      setExitCode(await check(inputs, flags, output));
    });
}
