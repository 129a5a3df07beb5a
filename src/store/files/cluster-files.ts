import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory } from "./durable-file.ts";
import type { ChainLink } from "./journal-chain.ts";

const NUMBERED_NAME = /^(\d+)\./;
const KNOWN_NAME = /^(\d+)\.(snapshot|journal)$/;

/** What a file has: all of a cluster, or changes. */
export type FileKind = "snapshot" | "journal";

/**
 * The files of one cluster. `<number>.snapshot` has all of it, `<number>.journal` changes. The state is the snapshot with the highest number, with the
 * changes of all journals from that number on. The snapshot before it, with its journals, stays to fall back on.
 */
export class ClusterFiles {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(number: number, kind: FileKind): string {
    return join(this.folder, `${String(number).padStart(8, "0")}.${kind}`);
  }

  link(number: number): ChainLink {
    return { number, path: this.path(number, "journal") };
  }

  /** The numbers of each kind in ascending order, and the highest in use, by files of other names too. */
  async list(): Promise<Record<FileKind, number[]> & { highest: number }> {
    const found = { snapshot: [] as number[], journal: [] as number[], highest: 0 };
    for (const name of await readdir(this.folder)) {
      found.highest = Math.max(found.highest, Number(NUMBERED_NAME.exec(name)?.[1] ?? 0));
      const [, number, kind] = KNOWN_NAME.exec(name) ?? [];
      if (kind !== undefined) found[kind as FileKind].push(Number(number));
    }
    for (const kind of ["snapshot", "journal"] as const) found[kind].sort((one, other) => one - other);
    return found;
  }

  /** Keeps a damaged file under another name, where it is never loaded. */
  async setAside(path: string): Promise<void> {
    await rename(path, `${path}.corrupt`);
  }

  /** Removes a snapshot that must not be loaded, for good. */
  async removeSnapshot(number: number): Promise<void> {
    await rm(this.path(number, "snapshot"), { recursive: true, force: true });
    await syncDirectory(this.folder);
  }

  /** Removes all files with lower numbers. */
  async removeBefore(number: number): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const found = NUMBERED_NAME.exec(name)?.[1];
      if (found !== undefined && Number(found) < number) await rm(join(this.folder, name), { force: true });
    }
  }
}
