import { hostname } from "node:os";
import { resolve } from "node:path";
import type { KubernetesObject } from "../extract/objects.ts";
import { identifyObject } from "../extract/objects.ts";
import { equalJson } from "../snapshot/json-value.ts";
import { ManifestDirectory, type ManifestProblem } from "./manifests.ts";
import {
  instanceName,
  type ObjectSource,
  SourceError,
  type SourceListener,
  type SourceProblem,
  type SyncLogger,
} from "./object-source.ts";
import { pause } from "./pacing.ts";

/** The directory of manifests and the options for changes. */
interface ManifestSourceOptions {
  readonly directory: string;
  /** Whether the source follows changes until the signal aborts. */
  readonly watch: boolean;
  readonly logger: SyncLogger;
  /** Whether the first read may have broken files: what can be read counts. Default false. */
  readonly allowBroken?: boolean | undefined;
}

/**
 * Milliseconds between two reads of the directory: at least the first, up to the second so much that reading
 * takes a fiftieth of the time.
 */
const POLL = { least: 500, most: 5000, times: 50 };

/**
 * A directory of manifests as a cluster's objects. Before every file was read whole once it reports none:
 * what a broken file has is not known, and a state without it would remove it from the gateways. Later the
 * last good content of a broken file counts. The source reads the directory again and again, since network
 * and container file systems do not report changes.
 */
export class ManifestSource implements ObjectSource {
  complete = false;
  readonly #options: ManifestSourceOptions;
  readonly #manifests: ManifestDirectory;
  #objects = new Map<string, KubernetesObject>();
  /** The file of each problem that was reported, by its text. */
  #reported: ReadonlyMap<string, string> = new Map();
  #unreadable: { readonly message: string; readonly since: number } | undefined;
  /** When each file that cannot be read became so, by `performance.now()`. */
  #broken: ReadonlyMap<string, number> = new Map();

  constructor(options: ManifestSourceOptions) {
    this.#options = options;
    this.#manifests = new ManifestDirectory(options.directory);
  }

  /**
   * The folder on this host. Jobs that read it once run on another host each time, and keep no lease that
   * somebody else could take.
   */
  get instance(): string | undefined {
    const { directory, watch } = this.#options;
    return watch ? instanceName(hostname(), resolve(directory)) : undefined;
  }

  /** A directory is current after each read. */
  lastConfirmed(now: number): number | undefined {
    return this.complete ? now : undefined;
  }

  problems(): readonly SourceProblem[] {
    const broken = Array.from(this.#broken, ([subject, since]) => ({
      code: "MANIFEST_BROKEN",
      since,
      subject,
    }));
    if (this.#unreadable === undefined) return broken;
    return [{ code: "MANIFESTS_UNREADABLE", since: this.#unreadable.since }, ...broken];
  }

  async run(listener: SourceListener, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (this.#options.watch || !this.complete)) {
      const begun = performance.now();
      await this.#read(listener);
      const wait = POLL.times * (performance.now() - begun);
      await pause(Math.min(POLL.most, Math.max(POLL.least, wait)), signal);
    }
  }

  async #read(listener: SourceListener): Promise<void> {
    const { directory, logger } = this.#options;
    try {
      const { objects, problems } = await this.#manifests.read();
      if (this.#unreadable !== undefined)
        logger.info({ directory }, "the manifest directory can be read again");
      this.#unreadable = undefined;
      const broken = problems.filter(isBroken);
      const waits = !this.complete && broken.length > 0 && this.#options.allowBroken !== true;
      this.#report(problems, waits);
      if (waits) {
        listener.failed(new SourceError("MANIFEST_BROKEN", describeBroken(directory, broken), true));
        return;
      }
      this.#update(
        listener,
        objects.map(({ object }) => object),
      );
    } catch (cause) {
      const message = `the manifest directory ${directory} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
      if (this.#unreadable?.message !== message) logger.error({ directory }, message);
      this.#unreadable = { message, since: this.#unreadable?.since ?? performance.now() };
      listener.failed(new SourceError("MANIFESTS_UNREADABLE", message, true, cause));
    }
  }

  /** One line for each problem when it comes, and one for each file when its problems are gone. */
  #report(problems: readonly ManifestProblem[], waits: boolean): void {
    const { logger } = this.#options;
    const reported = new Map<string, string>();
    for (const problem of problems) {
      const { code, file, line, column, message } = problem;
      const text = `${file}:${line}:${column}: ${message}`;
      reported.set(text, file);
      if (this.#reported.has(text)) continue;
      const fields = { code, file, line, column };
      const counts = problem.hasContent
        ? "the last content of the file that could be read"
        : "nothing of the file";
      if (!isBroken(problem)) logger.warn(fields, text);
      else if (waits) logger.error(fields, `${text}; ${NOTHING_YET}`);
      else logger.warn(fields, `${text}; ${counts} counts until it is repaired`);
    }
    const wrong = new Set(reported.values());
    for (const file of new Set(this.#reported.values()))
      if (!wrong.has(file)) logger.info({ file }, `${file}: its problems are gone, and its content counts`);
    this.#reported = reported;
    const now = performance.now();
    this.#broken = new Map(
      problems.filter(isBroken).map(({ file }) => [file, this.#broken.get(file) ?? now]),
    );
  }

  #update(listener: SourceListener, objects: readonly KubernetesObject[]): void {
    const before = this.#objects;
    this.#objects = new Map(objects.map((object) => [JSON.stringify(identifyObject(object)), object]));
    const gone = [...before].filter(([key]) => !this.#objects.has(key));
    const changed = [...this.#objects].filter(([key, object]) => !equalJson(before.get(key), object));
    for (const [, object] of gone) listener.delete(object);
    for (const [, object] of changed) listener.upsert(object);
    const { directory, logger } = this.#options;
    if (!this.complete) logger.info({ directory, objects: objects.length }, "manifests read");
    if (!this.complete && objects.length === 0)
      logger.warn(
        { directory },
        "the manifest directory has no manifest (*.yaml, *.yml, *.json) of a kind that counts: the cluster is pushed without services",
      );
    if (gone.length + changed.length === 0 && this.complete) return;
    this.complete = true;
    listener.changed();
  }
}

const NOTHING_YET =
  "nothing is pushed until every file of the folder can be read, since what this one has is not known; --allow-broken pushes the rest";

function describeBroken(directory: string, broken: readonly ManifestProblem[]): string {
  const [first] = broken;
  const files = broken.length === 1 ? "a file" : `${broken.length} files`;
  return `${files} of the manifest directory ${directory} cannot be read: ${first!.file}:${first!.line}:${first!.column}: ${first!.message}; ${NOTHING_YET}`;
}

/** Whether a problem concerns a whole file, so that its last good content counts. */
function isBroken({ code }: ManifestProblem): boolean {
  return code === "BrokenFile" || code === "UnreadableFile";
}
