import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import * as z from "zod";
import type { ExecConfig } from "./kubeconfig.ts";
import { parseKubernetesYaml } from "./kubernetes-yaml.ts";
import { SourceError } from "./object-source.ts";

const Status = z.object({
  token: z.string().nullish(),
  /** Certificate chain and key in PEM; both or neither. */
  clientCertificateData: z.string().nullish(),
  clientKeyData: z.string().nullish(),
  expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
});

/** What a credential plugin returns. */
type PluginCredential = Readonly<Omit<z.infer<typeof Status>, "expirationTimestamp">>;

/** Milliseconds. A plugin that waits for no input needs seconds at most. */
const PLUGIN_TIMEOUT = 60_000;
const MOST_QUOTED = 500;

/**
 * A credential plugin of a kubeconfig (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins).
 * Its credential counts until it expires, or until the API server rejects it.
 */
export class ExecPlugin {
  readonly #exec: ExecConfig;
  readonly #identity: string;
  readonly #cluster: object | undefined;
  readonly #stop = new AbortController();
  #held: { readonly credential: PluginCredential; readonly expires: number } | undefined;
  #running: Promise<PluginCredential> | undefined;

  /**
   * @param identity the user of the kubeconfig, for messages
   * @param cluster what the plugin gets to know of the API server
   */
  constructor(exec: ExecConfig, identity: string, cluster: object | undefined) {
    this.#exec = exec;
    this.#identity = identity;
    this.#cluster = cluster;
  }

  /** @throws {SourceError} `API_UNAUTHENTICATED` if the plugin has none. */
  async credential(): Promise<PluginCredential> {
    if (this.#held !== undefined && Date.now() <= this.#held.expires) return this.#held.credential;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /**
   * The API server rejected a credential: the plugin runs again before the next request, unless it already
   * has.
   */
  reject(credential: PluginCredential): void {
    if (this.#held?.credential === credential) this.#held = undefined;
  }

  /** Ends the plugin if it runs. */
  close(): void {
    this.#stop.abort();
  }

  async #run(): Promise<PluginCredential> {
    try {
      const { expirationTimestamp, ...credential } = this.#read(await this.#execute());
      const expires = expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY;
      this.#held = { credential, expires };
      return credential;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new SourceError(
        "API_UNAUTHENTICATED",
        `the credential plugin ${this.#exec.command} of ${this.#identity} ${reason}`,
        true,
        cause,
      );
    }
  }

  async #execute(): Promise<string> {
    const { apiVersion, command, args, env, interactiveMode, installHint } = this.#exec;
    const hasTerminal = process.stdin.isTTY === true;
    if (interactiveMode === "Always" && !hasTerminal)
      throw new Error("needs a terminal (interactiveMode Always), and the worker has none");
    const interactive = interactiveMode !== "Never" && hasTerminal;
    const spec = { cluster: this.#cluster, interactive };
    const child = spawn(findCommand(command), args, {
      argv0: command,
      env: {
        ...process.env,
        ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify({ kind: "ExecCredential", apiVersion, spec }),
      },
      stdio: [interactive ? "inherit" : "ignore", "pipe", interactive ? "inherit" : "pipe"],
      signal: this.#stop.signal,
      killSignal: "SIGKILL",
      ...(!interactive && { timeout: PLUGIN_TIMEOUT }),
    });
    const output = { stdout: "", stderr: "" };
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output.stderr = (output.stderr + text).slice(-MOST_QUOTED);
    });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    child.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      const hint = installHint === "" ? "" : `. ${printable(installHint)}`;
      reject(new Error(code === "ENOENT" ? `is not installed${hint}` : `cannot be run: ${message}${hint}`));
    });
    child.on("exit", (_, signal) => {
      // A process that the plugin left behind may hold its output open.
      if (signal !== null) child.stdout?.destroy();
      if (signal !== null) child.stderr?.destroy();
    });
    child.on("close", (status, signal) => {
      if (status === 0) return resolve(output.stdout);
      const said = printable(output.stderr.trim());
      const how = signal === null ? `failed with exit code ${status}` : `was ended by ${signal}`;
      reject(new Error(said === "" ? how : `${how}: ${said}`));
    });
    return promise;
  }

  #read(output: string): z.infer<typeof Status> {
    const { kind, apiVersion, status } = parseObject(output);
    if (kind !== "ExecCredential" || apiVersion !== this.#exec.apiVersion)
      throw new Error(
        `returned ${JSON.stringify(apiVersion)} ${JSON.stringify(kind)} instead of an ExecCredential of ${this.#exec.apiVersion}`,
      );
    const { success, data, error } = Status.safeParse(status ?? {});
    if (!success)
      throw new Error(
        `returned a malformed status: ${error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`,
      );
    if (!data.token && !data.clientCertificateData && !data.clientKeyData)
      throw new Error("returned neither a token nor a client certificate");
    if (!data.clientCertificateData !== !data.clientKeyData)
      throw new Error("returned a client certificate without its key, or a key without its certificate");
    return data;
  }
}

/** The file of a command by the worker's own PATH, as in Go; Node.js looks in that of `exec.env`. */
function findCommand(command: string): string {
  if (command.includes("/")) return command;
  const files = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, command));
  return files.find((file) => isAbsolute(file) && isExecutable(file)) ?? command;
}

function isExecutable(file: string): boolean {
  const status = statSync(file, { throwIfNoEntry: false });
  return status?.isFile() === true && (status.mode & 0o111) !== 0;
}

/** Plugins write JSON; kubectl also takes YAML. */
function parseObject(output: string): Readonly<Record<string, unknown>> {
  try {
    const isJson = output.trimStart().startsWith("{");
    const value: unknown = isJson ? JSON.parse(output) : parseKubernetesYaml(output)[0]?.toJS();
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // The message of a parser would quote what may be a credential.
  }
  throw new Error("returned something else than JSON");
}

/** Without control characters, which could confuse a terminal. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{C}\t\n]/gu, "");
}
