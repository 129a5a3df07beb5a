import { Argument, Command, Option } from "commander";
import { type Output, stopSignal } from "../commands/process.ts";
import { createLogger } from "../node/process.ts";
import {
  clusterZoneOptions,
  connectionOptions,
  logLevel,
  outputOption,
  pinOptions,
  repeat,
  seconds,
  speaksForOption,
  watchOption,
  withOptions,
} from "./flags.ts";

/** `clusterset-doh demo`, which `npm start` runs. */
export function demoCommand(output: Output): Command {
  return new Command("demo")
    .description("starts a gateway with two example clusters on this machine")
    .option("--listen <host:port>", "address to listen on", "localhost:8443")
    .option("--state-dir <dir>", "where its state is kept", ".clusterset-doh/demo")
    .addOption(logLevel().default("warn"))
    .addHelpText("after", "\nExample:\n  clusterset-doh demo --listen localhost:9443")
    .action(async (flags) => {
      const { demo } = await import("../commands/demo.ts");
      const logger = createLogger("demo", flags.logLevel);
      await demo(flags, logger, stopSignal(logger), output.out);
    });
}

/** `clusterset-doh status`; passes its exit code to `setExitCode`. */
export function statusCommand(output: Output, setExitCode: (code: number) => void): Command {
  const command = new Command("status").description(
    "prints a gateway's clusters, services, conflicts and findings, and how fresh they are",
  );
  return withOptions(command, ...connectionOptions(), outputOption(), watchOption())
    .option(
      "--ready",
      "print whether the gateway, or a sync worker at its --listen, is ready; no credential is needed",
    )
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh status --server https://localhost:8443 --ca-file .clusterset-doh/demo/tls/self-signed.crt

-o json prints what /status returns.
Exit codes: 0 the gateway is ready, 1 it is not, or does not answer, 2 wrong options.`,
    )
    .action(async (flags) => {
      const { status } = await import("../commands/status.ts");
      setExitCode(await status(flags, output));
    });
}

/** `clusterset-doh token`. */
export function tokenCommand(output: Output): Command {
  return new Command("token")
    .description("makes a token: prints it, and its SHA-256 for the config file on stderr")
    .option("--host-name", "a token that fits into a host name, for access.rules[].hostTokens")
    .option("--out <file>", "write the token into a new file that only its owner may read")
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh token --out cluster-a.token     # stderr: tokenSha256: …

An existing file is never replaced. Exit codes: 0 made, 1 failed, 2 wrong options, or the file cannot be made.`,
    )
    .action(async ({ hostName = false, out }: { readonly hostName?: boolean; readonly out?: string }) => {
      const { makeHostNameToken, makeToken, writeToken } = await import("../commands/token.ts");
      const { token, sha256 } = hostName ? makeHostNameToken() : makeToken();
      if (out === undefined) output.out(token);
      else await writeToken(out, token);
      output.err(`tokenSha256: ${sha256}`);
    });
}

/** `clusterset-doh completion`. */
export function completionCommand(output: Output): Command {
  return new Command("completion")
    .description("prints the completion of commands and options for a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  source <(clusterset-doh completion bash)
  clusterset-doh completion fish > ~/.config/fish/completions/clusterset-doh.fish`,
    )
    .action(async (shell, _flags, command: Command) => {
      const { completionOf } = await import("../commands/completion.ts");
      output.out(completionOf(command.parent!, shell).trimEnd());
    });
}

/** `clusterset-doh query`; passes its exit code to `setExitCode`. */
export function queryCommand(output: Output, setExitCode: (code: number) => void): Command {
  return lookUpCommand("query", output, setExitCode)
    .description("looks a name up: at a gateway, in manifests, or in a state folder")
    .addOption(
      new Option("--short", "print the data of the answer's records alone, one a line").conflicts("output"),
    )
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh query --server https://localhost:8443 --ca-file .clusterset-doh/demo/tls/self-signed.crt web.shop
  clusterset-doh query --manifests clusters/cluster-a --manifests clusters/cluster-b shop/web SRV
${LOOK_UP_HELP}`,
    );
}

/** `clusterset-doh explain`; passes its exit code to `setExitCode`. */
export function explainCommand(output: Output, setExitCode: (code: number) => void): Command {
  return lookUpCommand("explain", output, setExitCode)
    .description(
      "looks a name up, and says where each record comes from, who decides what, and what was perhaps meant",
    )
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh explain --server https://localhost:8443 --ca-file .clusterset-doh/demo/tls/self-signed.crt web.shop
  clusterset-doh explain --manifests clusters/cluster-a --manifests clusters/cluster-b wbe.shop
${LOOK_UP_HELP}`,
    );
}

const LOOK_UP_HELP = `
The cluster's id is that of a ClusterProperty in the manifests, else the folder's name. Without a gateway every cluster counts as live.
Exit codes: 0 the answer has records, 1 the query failed or is not answered (SERVFAIL, REFUSED), 2 wrong options or an
input that cannot be read, 3 no records: the name does not exist (NXDOMAIN), or not with this type.`;

function lookUpCommand(
  kind: "query" | "explain",
  output: Output,
  setExitCode: (code: number) => void,
): Command {
  const command = nameCommand(kind)
    .option(
      "--manifests <input>",
      "answer from a folder of manifests of one cluster, or a snapshot file; repeatable",
      repeat,
    )
    .option("--state-dir <dir>", "answer from what a gateway has stored; the gateway may be running")
    .option("--zone <zone>", "without a gateway: a zone besides clusterset.local; repeatable", repeat);
  return withOptions(command, speaksForOption(), ...pinOptions(), watchOption()).action(
    async (name, type, flags) => {
      const { query } = await import("../commands/query.ts");
      // Where the command line names another source, a server from elsewhere does not count.
      const isOther = flags.manifests !== undefined || flags.stateDir !== undefined;
      const server = isOther && command.getOptionValueSource("server") !== "cli" ? undefined : flags.server;
      setExitCode(await query(name, type, { ...flags, server, explain: kind === "explain" }, output));
    },
  );
}

/** `clusterset-doh wait`; passes its exit code to `setExitCode`. */
export function waitCommand(output: Output, setExitCode: (code: number) => void): Command {
  return nameCommand("wait")
    .description("waits until a gateway answers a name with records; says why not when the time is up")
    .option("--timeout <seconds>", "how long to wait", seconds, 60)
    .addHelpText(
      "after",
      `
Example:
  clusterset-doh wait --server https://doh.example:8443 --timeout 120 shop/web

Exit codes: 0 it is answered, 1 the time was up, 2 wrong options.`,
    )
    .action(async (name, type, flags) => {
      const { waitFor } = await import("../commands/query.ts");
      setExitCode(await waitFor(name, type, flags, output));
    });
}

function nameCommand(kind: "query" | "explain" | "wait"): Command {
  const command = new Command(kind)
    .argument(
      "<name>",
      "the name; web.shop and shop/web are web.shop.svc.clusterset.local, of a URL it is the host, of an IP address the reverse name",
    )
    .argument("[type]", "the type, such as A, AAAA, SRV or PTR (default: A; PTR for an address)")
    .option("--view <cluster>", "look up as this cluster (default: as the gateway sees this client)");
  return withOptions(command, outputOption(), ...connectionOptions());
}

/** `clusterset-doh export`; passes its exit code to `setExitCode`. */
export function exportCommand(output: Output, setExitCode: (code: number) => void): Command {
  return new Command("export")
    .description("prints a federation's zone for external clients, for a DNS provider")
    .argument("<inputs...>", "one folder of manifests per cluster, or snapshot files (JSON)")
    .requiredOption("--federation <name>", "the federation's name, as in web.shop.<name>.svc.<domain>")
    .requiredOption("--domain <domain>", "the registered domain of the external zone")
    .addOption(
      new Option(
        "--format <format>",
        "zone file, ExternalDNS's DNSEndpoint objects as YAML, or headscale's extra records as JSON",
      )
        .choices(["zone", "dnsendpoint", "headscale"])
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
  clusterset-doh export --federation prod --domain federation.example.com --format headscale \\
      clusters/cluster-a clusters/cluster-b > extra-records.json

Records go to stdout; problems, findings and conflicts to stderr. ExternalDNS reads the objects with
--source=crd; there is one for each service, labelled app.kubernetes.io/managed-by=clusterset-doh.
Exit codes: 0 exported, 1 nothing is printed: a manifest is broken, or with --strict there are findings or
conflicts, 2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { exportFederation } = await import("../commands/export.ts");
      setExitCode(await exportFederation(inputs, flags, output, Date.now()));
    });
}

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
  return withOptions(command, speaksForOption(), ...pinOptions(), ...clusterZoneOptions(), outputOption())
    .option("--strict", "conflicts fail the check, too")
    .addHelpText(
      "after",
      `
Examples:
  clusterset-doh check --strict clusters/cluster-a clusters/cluster-b > clusterset.zone
  clusterset-doh check --cluster-zone cluster.local --view cluster-a --zone cluster.local clusters/cluster-a
  clusterset-doh check --federation prod=federation,federation.example.com clusters/cluster-a clusters/cluster-b
  clusterset-doh check --speaks-for 'hub=*' clusters/hub clusters/cluster-a

Records go to stdout as a zone file; problems, findings and conflicts to stderr, or with -o json and -o yaml with the
records. The clusterset zone comes first, then those
of federations, then those of single clusters, each of these after a comment that names it. --zone with the
name of one of these prints the named zones only. --cluster-zone is for manifests; a snapshot has its own.
As in serve, a cluster needs a grant to import from other clusters, and to import services that it does not export.
Without a grant that is left out, with a finding. --speaks-for grants it.
Exit codes: 0 all that is exported is served, 1 problems or findings (with --strict also conflicts),
2 an input cannot be read.`,
    )
    .action(async (inputs, flags) => {
      const { check } = await import("../commands/check.ts");
      setExitCode(await check(inputs, flags, output));
    });
}
