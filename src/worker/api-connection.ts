import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { Dispatcher } from "undici";
import { type OutgoingTls, openDispatcher } from "../outgoing/dispatcher.ts";
import { ExecPlugin } from "./exec-plugin.ts";
import {
  type ExecConfig,
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigOptions,
  type KubeconfigUser,
  PLACES,
  readKubeconfig,
} from "./kubeconfig.ts";
import { SourceError, type SyncLogger } from "./object-source.ts";

/** A way to the API server, with the credentials of one moment. Its user destroys the dispatcher. */
export interface OpenConnection {
  /** Adds the credentials to each request. */
  readonly dispatcher: Dispatcher;
  /** The API server answered 401. */
  rejected(): void;
}

type Headers = Record<string, string | string[]>;

/**
 * Connects to the API server of a kubeconfig. The kubeconfig and the files that it names are read again for
 * each connection, so a renewed credential counts without a restart. Context and address stay those of the
 * start: a worker that changed them would mix two clusters.
 */
export class ApiConnection {
  readonly #options: KubeconfigOptions;
  readonly #places: typeof PLACES;
  readonly #logger: SyncLogger | undefined;
  #kubeconfig: Kubeconfig;
  #complaint = "";
  #plugin: { readonly key: string; readonly plugin: ExecPlugin } | undefined;

  /** @throws {SourceError} `KUBECONFIG_INVALID` */
  constructor(options: KubeconfigOptions, logger?: SyncLogger, places = PLACES) {
    this.#kubeconfig = readKubeconfig(options, places);
    this.#options = { ...options, context: this.#kubeconfig.context };
    this.#places = places;
    this.#logger = logger;
  }

  /** The API server: scheme, host and path, without a slash at the end. */
  get url(): string {
    return this.#kubeconfig.url;
  }

  /** Undefined for the service account of the pod. */
  get context(): string | undefined {
    return this.#kubeconfig.context;
  }

  /** Whose credentials are sent, for messages: `user "admin" of /home/me/.kube/config`. */
  get identity(): string {
    return this.#kubeconfig.identity;
  }

  /** @throws {SourceError} `KUBECONFIG_INVALID` or `API_UNAUTHENTICATED` if a credential cannot be had. */
  async open(): Promise<OpenConnection> {
    this.#readAgain();
    const { url, cluster, user } = this.#kubeconfig;
    const headers = impersonationOf(user);
    const tls: OutgoingTls = {};
    let rejected = () => {};
    if (url.startsWith("https:")) {
      if (cluster["insecure-skip-tls-verify"]) tls.rejectUnauthorized = false;
      if (cluster["tls-server-name"] !== "") tls.servername = cluster["tls-server-name"];
      const ca = this.#readPem("certificate-authority", cluster);
      if (ca !== "") tls.ca = ca;
      const cert = this.#readPem("client-certificate", user);
      if (cert !== "") Object.assign(tls, { cert, key: this.#readPem("client-key", user) });
      const authorization = this.#authorization(user);
      if (authorization !== undefined) headers.authorization = authorization;
      // As with kubectl, a plugin does not run for a user that has another credential.
      else if (user.exec && cert === "") {
        const plugin = this.#openPlugin(user.exec, ca);
        const credential = await plugin.credential();
        const { token, clientCertificateData, clientKeyData } = credential;
        if (token) headers.authorization = `Bearer ${token}`;
        if (clientCertificateData) Object.assign(tls, { cert: clientCertificateData, key: clientKeyData });
        rejected = () => plugin.reject(credential);
      }
    }
    // As with kubectl, the proxy of the kubeconfig counts before that of the environment.
    const named = cluster["proxy-url"];
    const proxy = named === "" ? undefined : new URL(named);
    const dispatcher = openDispatcher(new URL(url), { tls, proxy, environment: this.#places.variables });
    return { dispatcher: dispatcher.compose(addHeaders(headers)), rejected };
  }

  /** Ends a credential plugin that is still running. */
  close(): void {
    this.#plugin?.plugin.close();
  }

  #readAgain(): void {
    try {
      const next = readKubeconfig(this.#options, this.#places);
      if (next.url !== this.url)
        throw new Error(
          `the kubeconfig now leads to ${next.url} instead of ${this.url}: restart the worker to follow it`,
        );
      if (!isDeepStrictEqual(next, this.#kubeconfig))
        this.#logger?.info(
          { identity: next.identity },
          "the kubeconfig changed on disk: its credentials count from now on",
        );
      this.#kubeconfig = next;
      this.#complaint = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#complaint)
        this.#logger?.warn(
          { code: "KUBECONFIG_INVALID" },
          `${message}; until then what the worker has read before counts`,
        );
      this.#complaint = message;
    }
  }

  #authorization(user: KubeconfigUser): string | undefined {
    const token = this.#readToken(user);
    if (token !== "") return `Bearer ${token}`;
    if (user.username === "") return undefined;
    return `Basic ${Buffer.from(`${user.username}:${user.password}`).toString("base64")}`;
  }

  /** The token file counts; the token beside it only where the file cannot be read. */
  #readToken({ token, tokenFile }: KubeconfigUser): string {
    if (tokenFile === "") return token.trim();
    try {
      const read = readFileSync(tokenFile, "utf8").trim();
      if (read !== "") return read;
      throw new Error("is empty");
    } catch (cause) {
      if (token !== "") return token.trim();
      throw this.#unreadable("tokenFile", tokenFile, cause);
    }
  }

  #readPem<Name extends "certificate-authority" | "client-certificate" | "client-key">(
    name: Name,
    from: Readonly<Record<Name | `${Name}-data`, string>>,
  ): string {
    const file = from[name];
    let pem: string = from[`${name}-data`];
    if (pem === "" && file === "") return "";
    try {
      if (pem === "") pem = readFileSync(file, "utf8");
      if (!pem.includes("-----BEGIN ")) throw new Error("is not PEM");
    } catch (cause) {
      throw this.#unreadable(name, file, cause);
    }
    return pem;
  }

  #unreadable(what: string, file: string, cause: unknown): SourceError {
    return new SourceError(
      "KUBECONFIG_INVALID",
      `${what} ${file === "" ? "in the kubeconfig" : file} (${this.identity}) cannot be read: ${(cause as Error).message}`,
      true,
      cause,
    );
  }

  #openPlugin(exec: ExecConfig, ca: string): ExecPlugin {
    const cluster = exec.provideClusterInfo ? describeCluster(this.#kubeconfig.cluster, ca) : undefined;
    const key = JSON.stringify([exec, this.identity, cluster]);
    if (this.#plugin?.key !== key) {
      this.#plugin?.plugin.close();
      this.#plugin = { key, plugin: new ExecPlugin(exec, this.identity, cluster) };
    }
    return this.#plugin.plugin;
  }
}

/** The cluster as a plugin gets it that wants to know. */
function describeCluster(cluster: KubeconfigCluster, ca: string): object {
  const config = cluster.extensions.find(({ name }) => name === "client.authentication.k8s.io/exec");
  return {
    server: cluster.server,
    "tls-server-name": cluster["tls-server-name"] || undefined,
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"] || undefined,
    "certificate-authority-data": ca === "" ? undefined : Buffer.from(ca).toString("base64"),
    "proxy-url": cluster["proxy-url"] || undefined,
    "disable-compression": cluster["disable-compression"] || undefined,
    config: config?.extension,
  };
}

function impersonationOf(user: KubeconfigUser): Headers {
  if (user.as === "") return {};
  const headers: Headers = { "impersonate-user": user.as };
  if (user["as-uid"] !== "") headers["impersonate-uid"] = user["as-uid"];
  if (user["as-groups"].length > 0) headers["impersonate-group"] = user["as-groups"];
  for (const [key, values] of Object.entries(user["as-user-extra"])) {
    const escaped = key.replaceAll(/[^A-Za-z0-9!#$&'*+.^_`|~-]/g, (character) =>
      encodeURIComponent(character),
    );
    headers[`impersonate-extra-${escaped}`] = values;
  }
  return headers;
}

/** Headers of a dispatcher and not of a request: `fetch` would join the lines of one name. */
function addHeaders(headers: Headers): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch({ ...options, headers: { ...(options.headers as Headers | undefined), ...headers } }, handler);
}
