import { Command } from "commander";
import type { Output } from "../commands/process/output.ts";
import { connectionOptions, pinOptions, repeat, speaksForOption } from "./flags.ts";

/** `clusterset-doh query`; passes its exit code to `setExitCode`. */
export function queryCommand(output: Output, setExitCode: (code: number) => void): Command {
  const command = new Command("query")
    .description("looks a name up: at a gateway, in manifests, or in a state folder")
    .argument("<name>", "the name; for an IP address its reverse name is looked up")
    .argument("[type]", "the type, such as A, AAAA, SRV or PTR (default: A; PTR for an address)");
  for (const option of connectionOptions()) command.addOption(option);
  command
    .option(
      "--manifests <input>",
      "answer from a folder of manifests of one cluster, or a snapshot file; repeatable",
      repeat,
    )
    .option("--state-dir <dir>", "answer from what a gateway has stored; the gateway may be running")
    .option("--view <cluster>", "look up as this cluster (default: as the gateway sees this client)")
    .option("--zone <zone>", "without a gateway: a zone besides clusterset.local; repeatable", repeat)
    .addOption(speaksForOption());
  for (const option of pinOptions()) command.addOption(option);
  return command
    .option("--explain", "say where each record comes from, who decides what, and what was perhaps meant")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh query --server https://localhost:8443 --ca-file .clusterset-doh/demo/tls/self-signed.crt \\
      --explain web.shop.svc.clusterset.local
  clusterset-doh query --manifests clusters/cluster-a --manifests clusters/cluster-b web.shop.svc.clusterset.local SRV

The cluster's id is that of a ClusterProperty in the manifests, else the folder's name. Without a gateway every cluster counts as live.
Exit codes: 0 the answer has records, 1 the query failed or is not answered (SERVFAIL, REFUSED), 2 wrong options or an
input that cannot be read, 3 no records: the name does not exist (NXDOMAIN), or not with this type.`,
    )
    .action(async (name, type, flags) => {
      const { query } = await import("../commands/query/query.ts");
      setExitCode(await query(name, type, flags, output));
    });
}
