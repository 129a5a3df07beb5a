import type { Dirent } from "node:fs";
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { compareText } from "../extract/fields.ts";
import { identifyObject } from "../extract/identity.ts";
import type { KubernetesObject } from "../extract/objects.ts";
import {
  type ManifestFile,
  type ManifestObject,
  type ManifestProblem,
  parseManifestFile,
} from "./manifest-file.ts";

export type { ManifestObject, ManifestProblem } from "./manifest-file.ts";

/** The content of a directory of manifests. */
export interface Manifests {
  /** One object of each identity, sorted by file and line, with the namespaces that objects imply. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
}

const MOST_BYTES = 64 * 1024 * 1024;

/** A callback for each directory before it is read, or for one name in it on which the content depends. */
export type Follow = (directory: string, name?: string) => Promise<void>;

interface KnownFile extends ManifestFile {
  readonly signature: string;
}

/**
 * Reads every *.yaml, *.yml and *.json file under a directory. Hidden files and kustomization files are
 * skipped. An unreadable part becomes a problem with file, line and column; all other parts count.
 * @throws the error of node:fs if the directory itself cannot be read.
 */
export async function readManifests(directory: string): Promise<Manifests> {
  return new ManifestDirectory(directory).read();
}

/** A directory of manifests for repeated reads; unchanged files are not read again. */
export class ManifestDirectory {
  readonly #directory: string;
  #files = new Map<string, KnownFile>();
  readonly #impliedNamespaces = new Map<string, KubernetesObject>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The current content. For a broken or unreadable file the last good content
   * counts, in addition to its problems. A watch on each argument of `follow` notices every later change.
   */
  async read(follow: Follow = async () => undefined): Promise<Manifests> {
    const files = new Map<string, KnownFile>();
    await followPlace(resolve(this.#directory), follow);
    for (const path of await listFiles(this.#directory, follow)) {
      const file = await this.#readFile(path);
      if (file !== undefined) files.set(path, file);
    }
    this.#files = files;
    return combine([...files.values()], (name) => this.#implyNamespace(name));
  }

  #implyNamespace(name: string): KubernetesObject {
    let object = this.#impliedNamespaces.get(name);
    if (object === undefined) {
      object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      this.#impliedNamespaces.set(name, object);
    }
    return object;
  }

  async #readFile(path: string): Promise<KnownFile | undefined> {
    const name = relative(this.#directory, path);
    const before = this.#files.get(path);
    let handle: FileHandle | undefined;
    try {
      handle = await open(path);
      const signature = await signatureOf(handle);
      if (before?.signature === signature) return before;
      const { size } = await handle.stat();
      if (size > MOST_BYTES) throw new Error(`is larger than ${MOST_BYTES} bytes`);
      const text = await handle.readFile("utf8");
      // The file changed during the read: the previous content counts until the next read.
      if (before !== undefined && (await signatureOf(handle)) !== signature)
        return { ...before, signature: "" };
      const parsed = parseManifestFile(name, text);
      return parsed.broken
        ? { ...withContentOf(before, parsed.problems), signature }
        : { ...parsed, signature };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      const message = cause instanceof Error ? cause.message : String(cause);
      const problem: ManifestProblem = { code: "UnreadableFile", file: name, line: 1, column: 1, message };
      return { ...withContentOf(before, [problem]), signature: "" };
    } finally {
      await handle?.close();
    }
  }
}

/** A file that cannot be read: its last good content counts. */
function withContentOf(before: KnownFile | undefined, problems: readonly ManifestProblem[]) {
  const hasContent =
    before !== undefined && (!before.broken || before.problems.some((one) => one.hasContent));
  return {
    broken: true,
    objects: before?.objects ?? [],
    problems: problems.map((problem) => ({ ...problem, hasContent })),
  };
}

async function signatureOf(handle: FileHandle): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino } = await handle.stat({ bigint: true });
  return `${ino}-${size}-${mtimeNs}-${ctimeNs}`;
}

/** Follows the names that a path depends on: its own, and for a symbolic link that of its target. */
async function followPlace(path: string, follow: Follow): Promise<void> {
  await follow(dirname(path), basename(path));
  const real = await realpath(path).catch(() => path);
  if (real !== path) await follow(dirname(real), basename(real));
}

/** Manifest files under a directory, sorted; symbolic links are followed, each directory once. */
async function listFiles(directory: string, follow: Follow, seen = new Set<string>()): Promise<string[]> {
  const real = await realpath(directory);
  if (seen.has(real)) return [];
  seen.add(real);
  await follow(real);
  const files: string[] = [];
  const entries = await readdir(directory, { withFileTypes: true });
  for (const entry of entries.sort((left, right) => compareText(left.name, right.name))) {
    if (entry.name.startsWith(".")) continue;
    const path = join(directory, entry.name);
    const kind = await kindOf(entry, path);
    if (kind === "directory") files.push(...(await listFiles(path, follow, seen)));
    else if (kind === "file" && /\.(?:ya?ml|json)$/i.test(entry.name) && !isKustomization(entry.name)) {
      if (entry.isSymbolicLink()) await followPlace(resolve(path), follow);
      files.push(path);
    }
  }
  return files;
}

async function kindOf(entry: Dirent, path: string): Promise<"file" | "directory" | undefined> {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (!entry.isSymbolicLink()) return undefined;
  const target = await stat(path).catch(() => undefined);
  return target?.isFile() ? "file" : target?.isDirectory() ? "directory" : undefined;
}

function isKustomization(name: string): boolean {
  return /^kustomization(?:\.ya?ml)?$/i.test(basename(name));
}

// As with `kubectl apply`: of two manifests of one object the later one counts.
function combine(
  files: readonly ManifestFile[],
  implyNamespace: (name: string) => KubernetesObject,
): Manifests {
  const problems = files.flatMap((file) => file.problems);
  const objects = new Map<string, ManifestObject>();
  const implied = new Map<string, ManifestObject>();
  for (const found of files.flatMap((file) => file.objects)) {
    const identity = identifyObject(found.object);
    if (identity === undefined) continue;
    const { kind, group, namespace, name } = identity;
    const key = JSON.stringify([kind, group, namespace, name]);
    const before = objects.get(key);
    if (before !== undefined) {
      const { file, line, column } = before;
      const message = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name} is also in ${found.file}:${found.line}, which counts; delete one of the two`;
      problems.push({ code: "DuplicateObject", file, line, column, message });
    }
    objects.set(key, found);
    if (namespace !== "" && !implied.has(namespace)) implied.set(namespace, found);
  }
  for (const [name, { file, line, column }] of implied) {
    const key = JSON.stringify(["Namespace", "", "", name]);
    if (objects.has(key)) continue;
    objects.set(key, { object: implyNamespace(name), file, line, column });
  }
  return { objects: [...objects.values()], problems };
}
