import { Agent, request } from "undici";
import { DEADLINE } from "../../../deadline.ts";
import { type KubeObject, pathOf } from "./objects.ts";

export class ApiError extends Error {
  readonly status: number;
  readonly body: string;

  constructor(what: string, status: number, body: string) {
    super(`${what}: ${status} ${body}`);
    this.status = status;
    this.body = body;
  }
}

/** A small Kubernetes client that speaks with one API server as one user. */
export class ApiClient {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(url: string, ca: string, token: string) {
    this.#url = url;
    this.#token = token;
    this.#agent = new Agent({ connect: { ca, timeout: DEADLINE } });
  }

  /** Sends one request and returns the JSON of the answer; an answer other than 2xx is an ApiError. */
  async api<T = KubeObject>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    contentType = "application/json",
  ): Promise<T> {
    const answer = await request(this.#url + path, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": contentType, accept: "*/*" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new ApiError(`${method} ${path}`, answer.statusCode, text);
    return (answer.headers["content-type"]?.includes("json") ? JSON.parse(text) : text) as T;
  }

  /** Calls `use` for each event of a watch, until the server ends it; rejects when the signal aborts. */
  async watch(
    path: string,
    use: (event: { readonly type: string; readonly object: KubeObject }) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { statusCode, body } = await request(this.#url + path, {
      dispatcher: this.#agent,
      signal,
      bodyTimeout: 0,
      headers: { authorization: `Bearer ${this.#token}` },
    });
    if (statusCode >= 300) throw new ApiError(`GET ${path}`, statusCode, await body.text());
    let rest = "";
    for await (const text of body.setEncoding("utf8")) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) use(JSON.parse(line));
    }
  }

  get(object: KubeObject): Promise<KubeObject> {
    return this.api("GET", pathOf(object));
  }

  /** Creates or changes objects by server-side apply, in order; returns what the server made of them. */
  async apply(...objects: KubeObject[]): Promise<KubeObject[]> {
    const applied: KubeObject[] = [];
    for (const object of objects) {
      const path = `${pathOf(object)}?fieldManager=e2e&force=true`;
      applied.push(await this.api("PATCH", path, object, "application/apply-patch+yaml"));
    }
    return applied;
  }

  patch(object: KubeObject, patch: unknown): Promise<KubeObject> {
    return this.api("PATCH", pathOf(object), patch, "application/merge-patch+json");
  }

  patchStatus(object: KubeObject, status: unknown): Promise<KubeObject> {
    return this.api("PATCH", `${pathOf(object)}/status`, { status }, "application/merge-patch+json");
  }

  /** Deletes each object; a missing one is not an error. */
  async remove(...objects: KubeObject[]): Promise<void> {
    for (const object of objects) {
      await this.api("DELETE", pathOf(object)).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      });
    }
  }

  /** Begins the deletion of a namespace, which stays Terminating: no controller runs that would finish it. */
  terminateNamespace(name: string): Promise<KubeObject> {
    return this.api("DELETE", `/api/v1/namespaces/${name}`);
  }

  /** Deletes a namespace altogether. Objects that were left in it stay behind, as after a failed clean-up. */
  async deleteNamespace(name: string): Promise<void> {
    const namespace = await this.terminateNamespace(name);
    await this.api("PUT", `/api/v1/namespaces/${name}/finalize`, { ...namespace, spec: { finalizers: [] } });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
