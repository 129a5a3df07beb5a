import { type Command, InvalidArgumentError, Option } from "commander";

/** Adds options that several commands have. */
export function withOptions(command: Command, ...options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Collects the values of a repeatable flag. */
export function repeat(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Reads a flag in seconds. @throws {InvalidArgumentError} */
export function seconds(value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("It must be a whole number of seconds.");
}

/** `--cluster-zone` and `--pods`: a cluster's own zone. */
export function clusterZoneOptions(): Option[] {
  const name = new Option(
    "--cluster-zone <zone>",
    "also serve the cluster its own zone, such as cluster.local (default: none)",
  );
  const pods = new Option(
    "--pods <mode>",
    "pod names (a-b-c-d.<namespace>.pod) in that zone: none, any address, or those of pods (default: disabled)",
  );
  return [name, pods.choices(["disabled", "insecure", "verified"])];
}

/** `--speaks-for`, with the same grants as `push.credentials[].speaksFor`. */
export function speaksForOption(): Option {
  const option = new Option(
    "--speaks-for <cluster=clusters>",
    'count what a cluster imports from others, as push.credentials[].speaksFor of serve does: "hub=*", or "hub=east,west"; repeatable',
  );
  return option.argParser(repeat);
}

/** `--exports` and `--owner`, with the same meaning as `push.credentials[].exports` and `services`. */
export function pinOptions(): Option[] {
  const exports = new Option(
    "--exports <cluster=services>",
    "what a cluster may export, as push.credentials[].exports of serve: east=shop,payroll/db; repeatable",
  );
  const owner = new Option(
    "--owner <service=cluster>",
    "whose export decides a service, as services of serve: shop/web=east; repeatable",
  );
  return [exports.argParser(repeat), owner.argParser(repeat)];
}

/** `--log-level`, of every long-running command. */
export function logLevel(): Option {
  const option = new Option(
    "--log-level <level>",
    "how much is logged on stderr: JSON lines, at a terminal text",
  );
  return option.choices(["debug", "info", "warn", "error"]);
}

/** `--output`, of every command that reports. */
export function outputOption(): Option {
  const option = new Option("-o, --output <format>", "json, yaml, or wide: text that says more");
  return option.choices(["json", "yaml", "wide"]);
}

/** `--watch`, of commands that report what changes. */
export function watchOption(): Option {
  return new Option("-w, --watch", "ask every 2 seconds, and print the answer again when it changes");
}

/**
 * `--server` with credentials and trust, of commands that query a gateway; the environment and the client
 * config may have them.
 */
export function connectionOptions(): Option[] {
  return [
    new Option(
      "--server <url>",
      "the gateway's address, such as https://doh.example:8443 (default: that of ~/.config/clusterset-doh/config.yaml)",
    ),
    new Option("--token-file <file>", "file with a bearer token that the gateway admits"),
    new Option("--client-cert-file <file>", "client certificate chain in PEM"),
    new Option("--client-key-file <file>", "its private key in PEM"),
    new Option(
      "--server-name <name>",
      "the name in the gateway's certificate, where the address has another one",
    ),
    new Option("--ca-file <file>", "certificates in PEM to trust for the gateway, such as a self-signed one"),
  ].map((option) => option.env(`CLUSTERSET_DOH_${option.name().replaceAll("-", "_").toUpperCase()}`));
}
