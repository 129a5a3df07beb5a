import { basename } from "node:path";
import { COMPATIBILITY_DATE } from "./compatibility.ts";

/** What a Worker finds in its environment. */
export type Binding =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly json: unknown }
  | { readonly name: string; readonly service: string }
  /** The objects of a class of the Worker `of`. */
  | { readonly name: string; readonly objects: string; readonly of: string };

/** A Worker in workerd. */
export interface WorkerService {
  readonly name: string;
  /**
   * Module names and files, which lie beside the configuration when it is read; the first one is the Worker.
   */
  readonly modules: readonly (readonly [name: string, file: string])[];
  readonly bindings?: readonly Binding[];
  /**
   * The classes of its Durable Objects, and the disk service that keeps them; in memory where there is none.
   */
  readonly objects?: { readonly classes: readonly string[]; readonly disk?: string };
  /** The service that the Cache API asks. */
  readonly cache?: string;
}

/** A service of workerd: a Worker, a server elsewhere, a folder. */
export type Service =
  | WorkerService
  | { readonly name: string; readonly address: string }
  | { readonly name: string; readonly folder: string };

/** A socket for HTTP/1.1 in clear, on loopback. */
export interface Socket {
  readonly port: number;
  readonly service: string;
}

/**
 * The text of a workerd configuration (`workerd.capnp` in the package workerd).
 * @param v8Flags as V8 takes them on a command line
 */
export function workerdConfig(
  services: readonly Service[],
  sockets: readonly Socket[],
  v8Flags: readonly string[] = [],
): string {
  return [
    'using Workerd = import "/workerd/workerd.capnp";',
    "const config :Workerd.Config = (",
    `  v8Flags = ${list(v8Flags.map(text))},`,
    `  services = ${list(services.map(describeService))},`,
    `  sockets = ${list(sockets.map(describeSocket))}`,
    ");",
    "",
  ].join("\n");
}

function describeSocket({ port, service }: Socket): string {
  return `(name = ${text(`${service}-${port}`)}, address = "127.0.0.1:${port}", http = (), service = ${text(service)})`;
}

function describeService(service: Service): string {
  const { name } = service;
  if ("address" in service)
    return `(name = ${text(name)}, external = (address = ${text(service.address)}, http = ()))`;
  if ("folder" in service)
    return `(name = ${text(name)}, disk = (path = ${text(service.folder)}, writable = true))`;
  return `(name = ${text(name)}, worker = ${describeWorker(service)})`;
}

function describeWorker({ modules, bindings = [], objects, cache }: WorkerService): string {
  const parts = [
    `compatibilityDate = ${text(COMPATIBILITY_DATE)}`,
    `modules = ${list(modules.map(([name, file]) => `(name = ${text(name)}, esModule = embed ${text(basename(file))})`))}`,
    `bindings = ${list(bindings.map(describeBinding))}`,
  ];
  if (cache !== undefined) parts.push(`cacheApiOutbound = ${text(cache)}`);
  if (objects !== undefined) {
    const { classes, disk } = objects;
    const namespaces = classes.map(
      (name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`,
    );
    parts.push(`durableObjectNamespaces = ${list(namespaces)}`);
    parts.push(
      `durableObjectStorage = ${disk === undefined ? "(inMemory = void)" : `(localDisk = ${text(disk)})`}`,
    );
  }
  return `(${parts.join(", ")})`;
}

function describeBinding(binding: Binding): string {
  const name = `name = ${text(binding.name)}`;
  if ("text" in binding) return `(${name}, text = ${text(binding.text)})`;
  if ("json" in binding) return `(${name}, json = ${text(JSON.stringify(binding.json))})`;
  if ("service" in binding) return `(${name}, service = ${text(binding.service)})`;
  const { objects, of } = binding;
  return `(${name}, durableObjectNamespace = (className = ${text(objects)}, serviceName = ${text(of)}))`;
}

function list(items: readonly string[]): string {
  return `[${items.join(", ")}]`;
}

/** Cap'n Proto writes strings as C does: as JSON, where the letters are ASCII. */
function text(value: string): string {
  return JSON.stringify(value);
}
