import { MULTICLUSTER_GROUPS, type ObjectKind } from "../extract/objects.ts";
import { ApiConnection } from "./api-connection.ts";
import {
  API_RESOURCES,
  type Discovery,
  discoverVersions,
  MISNAMED_GROUP,
  nameOf,
  withNodeAddresses,
} from "./api-resources.ts";
import { ApiServer } from "./api-server.ts";
import type { KubeconfigOptions } from "./kubeconfig.ts";
import {
  describeCauses,
  instanceName,
  type ObjectSource,
  SourceError,
  type SourceListener,
  type SourceProblem,
  type SyncLogger,
} from "./object-source.ts";
import { backoffPause, Failures, Wakeup } from "./pacing.ts";
import { type FeedContext, ResourceFeed, type SourceTimes } from "./resource-feed.ts";

/** The API server and the options for reading it. */
export interface KubernetesSourceOptions extends KubeconfigOptions {
  readonly logger: SyncLogger;
  /** Whether the cluster id is configured, so that no ClusterProperty is read. */
  readonly clusterIdGiven: boolean;
  /** Whether pods are read, for the names of verified pods. Default false. */
  readonly pods?: boolean;
  /** Whether the addresses of nodes are read, too, and not only their labels. Default false. */
  readonly nodeAddresses?: boolean;
  /** Other times than those of a cluster, for tests. */
  readonly times?: Partial<SourceTimes>;
  /** Objects for each page of a list. Default 500. */
  readonly pageSize?: number;
}

const TIMES: SourceTimes = {
  discovery: 30_000,
  goneAfter: 10_000,
  problemAfter: 5000,
  backoff: { first: 500, most: 10_000 },
  // An API server that is starting rejects requests that it allows a moment later.
  slowBackoff: { first: 2_000, most: 60_000 },
};

/** A watch without events is confirmed about every 30 seconds; after twice that the API server is silent. */
const SILENT_AFTER = 60_000;
/** Codes that concern the API server as a whole, so that no single resource is named. */
const OF_SERVER = new Set(["API_UNREACHABLE", "API_UNAUTHENTICATED"]);

/** A cluster's objects from its API server, kept current. */
export class KubernetesSource implements ObjectSource {
  readonly #options: KubernetesSourceOptions;
  readonly api: ApiServer;
  readonly #context: FeedContext;
  readonly #feeds: readonly ResourceFeed[];
  readonly #absentSince = new Map<ResourceFeed, number>();
  readonly #discoverNow = new Wakeup();
  readonly #times: SourceTimes;
  readonly #discoveryFailures: Failures;
  #saidNoExports = false;
  #saidMisnamed = false;

  /** @throws {SourceError} if the kubeconfig cannot be used. */
  constructor(options: KubernetesSourceOptions) {
    this.#options = options;
    this.api = new ApiServer(new ApiConnection(options, options.logger), options.pageSize);
    this.#times = { ...TIMES, ...options.times };
    this.#discoveryFailures = new Failures(this.#times.problemAfter);
    this.#context = {
      times: this.#times,
      api: this.api,
      listener: { upsert() {}, delete() {}, changed() {}, failed() {} },
      logger: options.logger,
      rediscover: () => this.#discoverNow.wake(),
    };
    const unneeded = new Set<ObjectKind>();
    if (options.clusterIdGiven) unneeded.add("ClusterProperty");
    if (options.pods !== true) unneeded.add("Pod");
    const needed = API_RESOURCES.filter(({ kind }) => !unneeded.has(kind));
    const resources = options.nodeAddresses === true ? needed.map(withNodeAddresses) : needed;
    this.#feeds = resources.map((resource) => new ResourceFeed(resource, this.#context));
  }

  /**
   * A resource that is listed again does not count as missing: its objects stay as they were last reported
   * until the new list is whole, and then change in one turn. What exists in all lists, old and new, is in
   * every state meanwhile, as with the informers of any controller.
   */
  get complete(): boolean {
    return this.#feeds.every(({ synced }) => synced);
  }

  /**
   * The version in which a resource is read, such as `v1beta1` of `serviceimports`; undefined if it is not
   * served.
   */
  versionOf(resource: string, group: string): string | undefined {
    return this.#feedOf(resource, group)?.version;
  }

  /**
   * The name of the cluster, from the UID of the namespace kube-system (KEP-2149), or, where that is not to
   * be seen, from that of the Service default/kubernetes.
   */
  get instance(): string | undefined {
    const uidOf = (resource: string, namespace: string, name: string) =>
      this.#feedOf(resource, "")?.find(namespace, name)?.metadata?.uid;
    const kubeSystem = uidOf("namespaces", "", "kube-system");
    if (typeof kubeSystem === "string") return instanceName("kube-system", kubeSystem);
    const kubernetes = uidOf("services", "default", "kubernetes");
    return typeof kubernetes === "string" ? instanceName("kubernetes", kubernetes) : undefined;
  }

  /** The oldest confirmation of all resources; resources that are not served or not allowed do not count. */
  lastConfirmed(): number | undefined {
    if (!this.#feeds.every(({ synced }) => synced)) return undefined;
    const moments = this.#feeds.flatMap(({ confirmedAt }) => confirmedAt ?? []);
    return moments.length === 0 ? undefined : Math.min(...moments);
  }

  problems(now: number): readonly SourceProblem[] {
    const problems = [this.#discoveryFailures.problem(now) ?? []].flat();
    for (const { resource, failures, confirmedAt } of this.#feeds) {
      const problem = failures.problem(now);
      if (problem !== undefined)
        problems.push(OF_SERVER.has(problem.code) ? problem : { ...problem, subject: nameOf(resource) });
      else if (confirmedAt !== undefined && now - confirmedAt >= SILENT_AFTER)
        problems.push({ code: "API_UNREACHABLE", since: confirmedAt });
    }
    return problems;
  }

  async run(listener: SourceListener, signal: AbortSignal): Promise<void> {
    this.#context.listener = listener;
    const { url, context, identity } = this.api.connection;
    this.#options.logger.info({ url, context, identity }, `reading the API server ${url} as ${identity}`);
    signal.addEventListener("abort", () => this.api.connection.close(), { once: true });
    for (const feed of this.#feeds) if (feed.resource.builtIn) feed.serve(feed.resource.versions[0]!);
    let failures = 0;
    while (!signal.aborted) {
      try {
        const discovery = await discoverVersions(this.api, signal);
        failures = 0;
        this.#discoveryFailures.over();
        this.#follow(discovery);
        await this.#discoverNow.wait(this.#nextDiscovery(), signal);
      } catch (cause) {
        if (signal.aborted) break;
        failures++;
        const error =
          cause instanceof SourceError
            ? cause
            : new SourceError(
                "API_UNREACHABLE",
                `the discovery of the API server's resources failed: ${describeCauses(cause)}`,
                false,
                cause,
              );
        this.#discoveryFailures.failed(error.code, performance.now());
        this.#options.logger.warn({ code: error.code, failures }, error.message);
        listener.failed(error);
        await this.#discoverNow.wait(backoffPause(failures, this.#times.backoff), signal);
      }
    }
    for (const feed of this.#feeds) feed.stop();
    this.api.close();
  }

  #feedOf(resource: string, group: string): ResourceFeed | undefined {
    return this.#feeds.find((feed) => feed.resource.resource === resource && feed.resource.group === group);
  }

  #nextDiscovery(): number {
    const { discovery, goneAfter, backoff } = this.#times;
    const unsettled = this.#feeds.some(
      ({ resource, synced, version }) => !resource.builtIn && !synced && version === undefined,
    );
    if (unsettled) return backoffPause(2, backoff);
    return this.#absentSince.size > 0 ? Math.min(discovery, goneAfter) : discovery;
  }

  #follow({ versions, conclusive, misnamed }: Discovery): void {
    if (misnamed && !this.#saidMisnamed)
      this.#options.logger.warn(
        { group: MISNAMED_GROUP },
        `the API server serves ${MISNAMED_GROUP}, which is not read: install the MCS CRDs of ${MULTICLUSTER_GROUPS[0]} (sigs.k8s.io/mcs-api) and create the objects there`,
      );
    this.#saidMisnamed = misnamed;
    for (const feed of this.#feeds) {
      const { builtIn, resource, group } = feed.resource;
      if (builtIn) continue;
      const version = versions.get(`${resource}.${group}`);
      if (version !== undefined) {
        this.#absentSince.delete(feed);
        feed.serve(version);
      } else if (conclusive && feed.version === undefined) feed.clear();
      else if (conclusive && this.#isGone(feed)) {
        this.#absentSince.delete(feed);
        this.#options.logger.warn(
          { resource, group },
          "the API server no longer serves it: its objects are removed",
        );
        feed.clear();
      }
    }
    const served = [...versions.keys()].some((name) => /^service(?:ex|im)ports\./.test(name));
    if (!served && conclusive && !this.#saidNoExports)
      this.#options.logger.warn(
        {},
        "the API server serves neither ServiceExport nor ServiceImport: install the MCS CRDs (sigs.k8s.io/mcs-api), otherwise this cluster exports nothing",
      );
    if (served || conclusive) this.#saidNoExports = !served;
  }

  // A restarting API server may briefly answer as if no CRDs existed.
  #isGone(feed: ResourceFeed): boolean {
    const now = performance.now();
    const since = this.#absentSince.get(feed) ?? now;
    this.#absentSince.set(feed, since);
    return now - since >= this.#times.goneAfter;
  }
}
