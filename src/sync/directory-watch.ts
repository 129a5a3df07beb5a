import { type FSWatcher, watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";

interface Followed {
  readonly watcher: FSWatcher;
  /** Distinguishes a directory from another one that replaced it at the same path. */
  readonly inode: string;
}

/**
 * Notifies of changes in directories. Each directory has its own watch: Node's recursive watch (24, on Linux) follows every file by its inode,
 * and misses all changes after another file was renamed over it.
 */
export class DirectoryWatch {
  readonly #notify: () => void;
  readonly #failed: (error: unknown) => void;
  #followed = new Map<string, Followed>();
  #kept = new Map<string, Followed>();

  /** Calls `failed` once, if the first directory cannot be watched. */
  constructor(notify: () => void, failed: (error: unknown) => void) {
    this.#notify = notify;
    let said = false;
    this.#failed = (error) => {
      if (!said) failed(error);
      said = true;
    };
  }

  /** Watches a directory, or one name in it, until a whole round between two calls of `retire` does not follow it. */
  async follow(directory: string, name?: string): Promise<void> {
    const key = JSON.stringify([directory, name]);
    try {
      const { dev, ino } = await stat(directory, { bigint: true });
      const inode = `${dev}-${ino}`;
      const before = this.#followed.get(key);
      if (before?.inode === inode) this.#kept.set(key, before);
      else {
        before?.watcher.close();
        const followed = { watcher: this.#watch(key, directory, name), inode };
        this.#followed.set(key, followed);
        this.#kept.set(key, followed);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#failed(error);
    }
  }

  /** Ends the round: stops watching directories that were not followed in it. */
  retire(): void {
    for (const [key, { watcher }] of this.#followed) if (!this.#kept.has(key)) watcher.close();
    this.#followed = this.#kept;
    this.#kept = new Map();
  }

  close(): void {
    this.retire();
    this.retire();
  }

  #watch(key: string, directory: string, name: string | undefined): FSWatcher {
    const drop = () => {
      watcher.close();
      if (this.#followed.get(key)?.watcher === watcher) this.#followed.delete(key);
      if (this.#kept.get(key)?.watcher === watcher) this.#kept.delete(key);
    };
    const watcher = watch(directory, (event, changed) => {
      // Also the last event of a directory that is moved or deleted. It may come back with the same inode.
      if (event === "rename" && changed === basename(directory)) drop();
      else if (name !== undefined && changed !== null && changed !== name) return;
      this.#notify();
    });
    watcher.on("error", (error) => {
      drop();
      this.#failed(error);
    });
    return watcher;
  }
}
