import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { delimiter, dirname, join, resolve } from "node:path";
import * as z from "zod";
import { parseKubernetesYaml, toValue } from "./kubernetes-yaml.ts";
import { SourceError } from "./object-source.ts";

/** Which kubeconfig is read, and which of its contexts. */
export interface KubeconfigOptions {
  /** Path of a kubeconfig file. Default: KUBECONFIG, ~/.kube/config or the service account of the pod. */
  readonly kubeconfig?: string | undefined;
  /** Context of the kubeconfig. Default: its current one. */
  readonly context?: string | undefined;
}

/** Where a kubeconfig comes from without a flag. */
export interface KubeconfigPlaces {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** The folder of a pod's service account. */
  readonly serviceAccount: string;
}

export const PLACES: KubeconfigPlaces = {
  variables: process.env,
  serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
};

// As in Go's JSON, null is the same as nothing, and unknown fields do not count.
const or = <Schema extends z.ZodType, Default>(schema: Schema, nothing: Default) =>
  schema.nullish().transform((value) => value ?? nothing);
const listOf = <Item extends z.ZodType>(item: Item) => or(z.array(item), []);
const text = or(z.string(), "");
const flag = or(z.boolean(), false);
const base64 = text
  .refine((value) => /^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(value), "is not base64")
  .transform((value) => Buffer.from(value, "base64").toString());
const orEmpty = <Schema extends z.ZodType>(schema: Schema) => z.preprocess((value) => value ?? {}, schema);

const Exec = z.object({
  apiVersion: text,
  command: text,
  args: listOf(z.string()),
  env: listOf(z.object({ name: text, value: text })),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: text,
});
const Cluster = z.object({
  server: text,
  "tls-server-name": text,
  "insecure-skip-tls-verify": flag,
  "certificate-authority": text,
  "certificate-authority-data": base64,
  "proxy-url": text,
  "disable-compression": flag,
  extensions: listOf(z.object({ name: text, extension: z.unknown() })),
});
const User = z.object({
  "client-certificate": text,
  "client-certificate-data": base64,
  "client-key": text,
  "client-key-data": base64,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": listOf(z.string()),
  "as-user-extra": orEmpty(z.record(z.string(), listOf(z.string()))),
  "auth-provider": z.object({ name: text }).nullish(),
  exec: Exec.nullish(),
});
const Config = z.object({
  apiVersion: z.literal(["", "v1"]).nullish(),
  kind: z.literal(["", "Config"]).nullish(),
  "current-context": text,
  clusters: listOf(z.object({ name: text, cluster: orEmpty(Cluster) })),
  contexts: listOf(z.object({ name: text, context: orEmpty(z.object({ cluster: text, user: text })) })),
  users: listOf(z.object({ name: text, user: orEmpty(User) })),
});

export type KubeconfigCluster = Readonly<z.infer<typeof Cluster>>;
export type KubeconfigUser = Readonly<z.infer<typeof User>>;
export type ExecConfig = Readonly<z.infer<typeof Exec>>;

/** What a context leads to. File names are absolute. */
export interface Kubeconfig {
  /** Undefined for the service account of the pod. */
  readonly context: string | undefined;
  /** The API server: scheme, host and path, without a slash at the end. */
  readonly url: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  /** For messages: `user "admin" of /home/me/.kube/config`. */
  readonly identity: string;
}

/** The text of a kubeconfig file. */
interface KubeconfigFile {
  readonly path: string;
  /** Undefined if there is no such file. */
  readonly text: string | undefined;
}

/**
 * What kubectl would talk to, by the rules of client-go's `clientcmd`:
 * - Missing and empty files do not count.
 * - The first file that has a `current-context` sets it, and the first one that has a cluster, a context or a
 *   user of a name sets all of it.
 * - A relative file name is relative to its kubeconfig, and so is a command with a slash.
 * - The service account of the pod counts if the files have nothing.
 * - Credentials are sent over HTTPS alone.
 *
 * Where kubectl falls back to the pod or to localhost:8080 although a file has clusters, it would talk to
 * another cluster than the one that was meant. That is an error here: files without a chosen context, and a
 * context whose cluster or user is missing.
 * @throws {SourceError} `KUBECONFIG_INVALID`
 */
export function readKubeconfig(options: KubeconfigOptions, places: KubeconfigPlaces): Kubeconfig {
  const files = readFiles(options, places);
  const clusters = new Map<string, KubeconfigCluster>();
  const contexts = new Map<string, { readonly cluster: string; readonly user: string }>();
  const users = new Map<string, { readonly path: string; readonly user: KubeconfigUser }>();
  let current = "";
  for (const { path, text } of files) {
    if (text === undefined) continue;
    const config = parseFile(path, text);
    const folder = dirname(resolve(path));
    const from = (name: string) => (name === "" ? "" : resolve(folder, name));
    current ||= config["current-context"];
    for (const { name, context } of config.contexts) if (!contexts.has(name)) contexts.set(name, context);
    for (const { name, cluster } of config.clusters)
      if (!clusters.has(name))
        clusters.set(name, { ...cluster, "certificate-authority": from(cluster["certificate-authority"]) });
    for (const { name, user } of config.users)
      if (!users.has(name)) users.set(name, { path, user: withPaths(user, from) });
  }
  const contextName = options.context ?? current;
  if (contextName === "") {
    if (clusters.size + contexts.size + users.size > 0)
      throw invalid(
        `${paths(files)} has no current-context: name one (--context); its contexts are: ${names(contexts)}`,
      );
    return podAccount(places) ?? noKubeconfig(files, places);
  }
  const quoted = `context ${JSON.stringify(contextName)}`;
  const context = contexts.get(contextName);
  if (context === undefined)
    throw invalid(`${paths(files)} has no ${quoted}; its contexts are: ${names(contexts)}`);
  const lacks = (kind: string, name: string, table: ReadonlyMap<string, unknown>) =>
    invalid(
      `${quoted} names the ${kind} ${JSON.stringify(name)}, which ${paths(files)} does not have; its ${kind}s are: ${names(table)}`,
    );
  const cluster = clusters.get(context.cluster);
  if (cluster === undefined) throw lacks("cluster", context.cluster, clusters);
  const url = apiServerUrl(context.cluster, cluster);
  const secure = url.startsWith("https:");
  const found = users.get(context.user);
  if (found === undefined && context.user !== "" && secure) throw lacks("user", context.user, users);
  const user = found?.user ?? User.parse({});
  const problems = problemsOf(cluster, user);
  if (problems.length > 0)
    throw invalid(`${quoted} of ${paths(files)} cannot be used: ${problems.join("; ")}`);
  return {
    context: contextName,
    url,
    cluster,
    user: secure ? user : withoutCredentials(user),
    identity: found === undefined ? "no user" : `user ${JSON.stringify(context.user)} of ${found.path}`,
  };
}

/**
 * Reads the files that count: that of `--kubeconfig` alone, else those of KUBECONFIG, else ~/.kube/config.
 */
function readFiles({ kubeconfig }: KubeconfigOptions, { variables }: KubeconfigPlaces): KubeconfigFile[] {
  if (kubeconfig !== undefined) {
    const file = readFile(kubeconfig);
    if (file.text === undefined) throw invalid(`the kubeconfig ${kubeconfig} does not exist`);
    return [file];
  }
  const listed = (variables.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if ((variables.KUBECONFIG ?? "") !== "") return [...new Set(listed)].map(readFile);
  // As in client-go. In a pod the user has no entry in /etc/passwd, and may have no home.
  const home = variables.HOME || variables.USERPROFILE;
  return home ? [readFile(join(home, ".kube", "config"))] : [];
}

function readFile(path: string): KubeconfigFile {
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return { path, text: undefined };
    throw invalid(`the kubeconfig ${path} cannot be read: ${(cause as Error).message}`, cause);
  }
}

function parseFile(path: string, content: string): z.infer<typeof Config> {
  // As kubectl: the first document alone.
  const [document] = parseKubernetesYaml(content, { uniqueKeys: false });
  const error = document?.errors[0];
  if (error !== undefined) {
    // The number of the line and not its text, which may hold a secret.
    const line = content.slice(0, error.pos[0]).split("\n").length;
    throw invalid(`the kubeconfig ${path} is not YAML: line ${line}: ${error.message}`);
  }
  let value: unknown;
  try {
    value = toValue(document);
  } catch {
    // The library's message names the alias, which may be an unquoted password.
    throw invalid(
      `the kubeconfig ${path} is not YAML: an alias has no anchor or is used too often, or a merge key has no mapping`,
    );
  }
  const parsed = orEmpty(Config).safeParse(value);
  if (!parsed.success) {
    const issues = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw invalid(`the kubeconfig ${path} is malformed: ${issues.join("; ")}`);
  }
  for (const kind of ["clusters", "contexts", "users"] as const) {
    const seen = new Set<string>();
    for (const { name } of parsed.data[kind])
      if (seen.has(name))
        throw invalid(`the kubeconfig ${path} has ${JSON.stringify(name)} twice in ${kind}`);
      else seen.add(name);
  }
  return parsed.data;
}

function withPaths(user: KubeconfigUser, from: (path: string) => string): KubeconfigUser {
  const { exec } = user;
  const isPath = exec?.command.includes("/") === true;
  return {
    ...user,
    "client-certificate": from(user["client-certificate"]),
    "client-key": from(user["client-key"]),
    tokenFile: from(user.tokenFile),
    exec: isPath ? { ...exec, command: from(exec.command) } : exec,
  };
}

/** Without TLS kubectl says whom it impersonates, and nothing else. */
function withoutCredentials(user: KubeconfigUser): KubeconfigUser {
  const { as, "as-uid": uid, "as-groups": groups, "as-user-extra": extra } = user;
  return { ...User.parse({}), as, "as-uid": uid, "as-groups": groups, "as-user-extra": extra };
}

function apiServerUrl(name: string, { server }: KubeconfigCluster): string {
  if (server === "") throw invalid(`the cluster ${JSON.stringify(name)} of the kubeconfig has no server`);
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `http://${server}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "")
    throw invalid(
      `the cluster ${JSON.stringify(name)} of the kubeconfig needs a server such as https://192.0.2.1:6443, without credentials`,
    );
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** What is wrong with a cluster and a user, as texts. */
function problemsOf(cluster: KubeconfigCluster, user: KubeconfigUser): string[] {
  const proxy = cluster["proxy-url"];
  const isGiven = (...values: readonly string[]) => values.filter((value) => value !== "").length;
  const authorities = isGiven(cluster["certificate-authority"], cluster["certificate-authority-data"]);
  const certificates = isGiven(user["client-certificate"], user["client-certificate-data"]);
  const keys = isGiven(user["client-key"], user["client-key-data"]);
  const impersonated = isGiven(user["as-uid"], ...user["as-groups"], ...Object.keys(user["as-user-extra"]));
  const { exec, "auth-provider": provider } = user;
  return [
    proxy !== "" &&
      !/^(?:https?|socks5):$/.test(URL.parse(proxy)?.protocol ?? "") &&
      "proxy-url must be an http, https or socks5 URL",
    authorities === 2 && "certificate-authority and certificate-authority-data exclude each other",
    authorities > 0 &&
      cluster["insecure-skip-tls-verify"] &&
      "insecure-skip-tls-verify and a certificate authority exclude each other",
    certificates === 2 && "client-certificate and client-certificate-data exclude each other",
    certificates > 0 && keys === 0 && "the client certificate has no client-key",
    certificates > 0 && keys === 2 && "client-key and client-key-data exclude each other",
    isGiven(user.username, user.password) > 0 &&
      isGiven(user.token, user.tokenFile) > 0 &&
      "a token and a password exclude each other",
    impersonated > 0 && user.as === "" && "as-uid, as-groups and as-user-extra need as",
    provider && describeAuthProvider(provider.name),
    ...(exec ? execProblems(exec) : []),
  ].filter((problem) => typeof problem === "string");
}

const EXEC_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

function execProblems({ apiVersion, command, env, interactiveMode }: ExecConfig): string[] {
  const problems: string[] = [];
  if (command === "") problems.push("exec has no command");
  if (!EXEC_VERSIONS.includes(apiVersion))
    problems.push(`exec.apiVersion ${JSON.stringify(apiVersion)} is none of ${EXEC_VERSIONS.join(", ")}`);
  if (env.some(({ name }) => name === "")) problems.push("exec.env has a variable without a name");
  const isOptional = apiVersion === EXEC_VERSIONS[1] && interactiveMode === "";
  if (!isOptional && !["Never", "IfAvailable", "Always"].includes(interactiveMode))
    problems.push("exec.interactiveMode must be Never, IfAvailable or Always");
  return problems;
}

function describeAuthProvider(name: string): string {
  const plugins: Readonly<Record<string, string>> = {
    gcp: "gke-gcloud-auth-plugin",
    azure: "kubelogin of Azure",
    oidc: "kubectl oidc-login",
  };
  const plugin = plugins[name] ?? "one of the identity provider";
  return `auth-provider ${JSON.stringify(name)} is not supported: use a credential plugin (exec, such as ${plugin}) or a token of a service account`;
}

/** A pod's service account, as Kubernetes mounts it; undefined outside of pods. */
function podAccount({ variables, serviceAccount }: KubeconfigPlaces): Kubeconfig | undefined {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = variables;
  const tokenFile = join(serviceAccount, "token");
  if (host === "" || port === "" || !existsSync(tokenFile)) return undefined;
  const authority = join(serviceAccount, "ca.crt");
  const url = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return {
    context: undefined,
    url,
    cluster: Cluster.parse({
      server: url,
      "certificate-authority": existsSync(authority) ? authority : "",
    }),
    user: User.parse({ tokenFile }),
    identity: "the service account of the pod",
  };
}

function noKubeconfig(files: readonly KubeconfigFile[], { variables }: KubeconfigPlaces): never {
  const isMissing = files.every(({ text: content }) => content === undefined);
  const isNone = variables.KUBECONFIG ? "KUBECONFIG names no file" : "neither KUBECONFIG nor HOME is set";
  const why = files.length === 0 ? isNone : `${paths(files)} ${isMissing ? "does not exist" : "is empty"}`;
  throw invalid(
    `no kubeconfig: ${why}, and the worker does not run in a pod with a service account. Give one (--kubeconfig)`,
  );
}

function paths(files: readonly KubeconfigFile[]): string {
  return files.map(({ path }) => path).join(", ");
}

function names(table: ReadonlyMap<string, unknown>): string {
  return [...table.keys()].join(", ") || "none";
}

function invalid(message: string, cause?: unknown): SourceError {
  return new SourceError("KUBECONFIG_INVALID", message, true, cause);
}
