import { InvalidArgumentError, Option } from "commander";

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
  const option = new Option("--log-level <level>", "how much is logged, as JSON lines on stderr");
  return option.choices(["debug", "info", "warn", "error"]);
}

/** `--server` with credentials and trust, of commands that query a gateway; the environment may have them. */
export function connectionOptions(): Option[] {
  const option = (flags: string, description: string, variable: string) =>
    new Option(flags, description).env(variable);
  return [
    option(
      "--server <url>",
      "the gateway's address, such as https://doh.example:8443",
      "CLUSTERSET_DOH_SERVER",
    ),
    option(
      "--token-file <file>",
      "file with a bearer token that the gateway admits",
      "CLUSTERSET_DOH_TOKEN_FILE",
    ),
    option("--client-cert-file <file>", "client certificate chain in PEM", "CLUSTERSET_DOH_CLIENT_CERT_FILE"),
    option("--client-key-file <file>", "its private key in PEM", "CLUSTERSET_DOH_CLIENT_KEY_FILE"),
    new Option(
      "--server-name <name>",
      "the name in the gateway's certificate, where the address has another one",
    ),
    option(
      "--ca-file <file>",
      "certificates in PEM to trust for the gateway, such as a self-signed one",
      "CLUSTERSET_DOH_CA_FILE",
    ),
  ];
}
