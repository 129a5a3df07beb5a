import { KubeConfig, Watch } from "@kubernetes/client-node";
import type { ApiConnection, OpenConnection } from "./api-connection.ts";
import { ApiError } from "./api-server.ts";

/** Options and callbacks of a watch. */
export interface InformerWatchOptions {
  /** The requested media type. */
  readonly accept: string;
  /** Ends the watch for good. */
  readonly signal: AbortSignal;
  /** Changes an object before the informer stores it. */
  readonly prepare: (object: object) => object;
  /** The API server accepted the watch or sent something over it. */
  readonly alive: () => void;
  /** A callback of the informer failed; without this it would be an unhandled rejection. */
  readonly broken: (error: unknown) => void;
}

/**
 * The client's Watch, made safe for an informer that runs for months:
 * - it requests bookmarks, so that a quiet resource does not fall behind etcd's compaction;
 * - an error in the stream ends the watch;
 * - nothing starts after the stop;
 * - it forwards failures that the client leaves as rejections.
 * The client itself closes a connection without data for 30 seconds.
 */
export class InformerWatch extends Watch {
  readonly #options: InformerWatchOptions;
  readonly #config: WatchConfig;

  constructor(connection: ApiConnection, options: InformerWatchOptions) {
    const config = new WatchConfig(connection, options.accept);
    super(config);
    this.#config = config;
    this.#options = options;
    options.signal.addEventListener("abort", () => config.release(), { once: true });
  }

  override async watch(
    path: string,
    query: Record<string, string | number | boolean | undefined>,
    callback: (phase: string, object: unknown, event?: unknown) => unknown,
    done: (error: unknown) => unknown,
  ): Promise<AbortController> {
    const { signal, prepare, alive, broken } = this.#options;
    if (signal.aborted) return new AbortController();
    let ended = false;
    const end = (error: unknown) => {
      if (ended) return;
      ended = true;
      if ((error as { statusCode?: unknown } | null)?.statusCode === 401) this.#config.rejected();
      this.#config.release();
      void Promise.resolve(done(error)).catch(broken);
    };
    const take = (phase: string, object: unknown) => {
      if (ended || signal.aborted) return;
      if (phase === "ERROR") {
        // The informer lists again after a 410. The API server then closes the stream; a proxy may not.
        const { code, message } = object as { code?: unknown; message?: unknown };
        if (code === 410) void callback(phase, object);
        end(code === 410 ? null : new ApiError(Number(code), path, String(message)));
        return;
      }
      alive();
      // The client would treat an exception from here as a line that is not JSON, and skip it.
      const hand = async () => callback(phase, phase === "BOOKMARK" ? object : prepare(object as object));
      hand().catch(end);
    };
    try {
      const controller = await super.watch(path, { ...query, allowWatchBookmarks: true }, take, end);
      if (signal.aborted) controller.abort();
      else if (!ended) alive();
      return controller;
    } catch (error) {
      end(error);
      return new AbortController();
    }
  }
}

/** What the client's Watch takes of a KubeConfig: the server, and connections, which it closes here. */
class WatchConfig extends KubeConfig {
  readonly #connection: ApiConnection;
  readonly #accept: string;
  #open: OpenConnection | undefined;

  constructor(connection: ApiConnection, accept: string) {
    super();
    this.#connection = connection;
    this.#accept = accept;
  }

  override getCurrentCluster() {
    return { name: "", server: this.#connection.url, skipTLSVerify: false };
  }

  override async applySecurityAuthentication(
    context: Parameters<KubeConfig["applySecurityAuthentication"]>[0],
  ): Promise<void> {
    const open = await this.#connection.open();
    this.release();
    this.#open = open;
    context.setHeaderParam("accept", this.#accept);
    context.setDispatcher(open.dispatcher);
  }

  rejected(): void {
    this.#open?.rejected();
  }

  release(): void {
    void this.#open?.dispatcher.destroy();
    this.#open = undefined;
  }
}
