import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { type Document, isMap, isNode, isSeq, LineCounter, visit } from "yaml";
import { compareText, quote, readMapping } from "../extract/fields.ts";
import type { KubernetesObject } from "../extract/objects.ts";
import {
  findIdentityProblem,
  findSliceOwners,
  identifyObject,
  SERVICE_NAME_LABEL,
  suggestKind,
} from "../extract/objects.ts";
import { parseKubernetesYaml, toValue } from "./kubernetes-yaml.ts";

/** The content of a directory of manifests. */
interface Manifests {
  /** One object of each identity, sorted by file and line, with the namespaces that objects imply. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
  /**
   * The kind of each object that a snapshot does not use, as `Deployment (apps/v1)`; also kustomization
   * files.
   */
  readonly ignored: readonly string[];
}

const MOST_BYTES = 64 * 1024 * 1024;

interface KnownFile extends ManifestFile {
  /** Changes with the content. */
  readonly signature: string;
  /**
   * Whether the last read found another signature. The next read takes the content: an editor writes several
   * times for one save.
   */
  readonly isChanging?: boolean;
}

/**
 * A directory of manifests for repeated reads: every *.yaml, *.yml and *.json file below it that is not
 * hidden. Unchanged files are not read again.
 */
export class ManifestDirectory {
  readonly #directory: string;
  #files = new Map<string, KnownFile>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The current content. An unreadable part becomes a problem with file, line and column, and all other parts
   * count. For a broken or unreadable file the last good content counts, in addition to its problems.
   * @throws the error of node:fs if the directory itself cannot be read.
   */
  async read(): Promise<Manifests> {
    const files = new Map<string, KnownFile>();
    for (const path of await listFiles(this.#directory)) {
      const file = await this.#readFile(path);
      if (file !== undefined) files.set(path, file);
    }
    this.#files = files;
    return combine([...files.values()]);
  }

  async #readFile(path: string): Promise<KnownFile | undefined> {
    const name = relative(this.#directory, path);
    const before = this.#files.get(path);
    try {
      const { signature, size } = await look(path);
      if (before?.signature === signature) return { ...before, isChanging: false };
      if (before !== undefined && before.isChanging !== true) return { ...before, isChanging: true };
      if (size > MOST_BYTES) throw new Error(`is larger than ${MOST_BYTES} bytes`);
      const text = isKustomization(path) ? KUSTOMIZATION : await readFile(path, "utf8");
      // It changed during the read.
      if (before !== undefined && (await look(path)).signature !== signature) return before;
      const parsed = parseManifestFile(name, text);
      return parsed.broken
        ? { ...withContentOf(before, parsed.problems), signature }
        : { ...parsed, signature };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      const message = cause instanceof Error ? cause.message : String(cause);
      const problem: ManifestProblem = { code: "UnreadableFile", file: name, line: 1, column: 1, message };
      return { ...withContentOf(before, [problem]), signature: "" };
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
    ignored: before?.ignored ?? [],
  };
}

async function look(path: string) {
  const { mtimeNs, ctimeNs, size, ino } = await stat(path, { bigint: true });
  return { size, signature: `${ino}-${size}-${mtimeNs}-${ctimeNs}` };
}

/** Manifest files under a directory, sorted; symbolic links are followed, each directory once. */
async function listFiles(directory: string, seen = new Set<string>()): Promise<string[]> {
  const real = await realpath(directory);
  if (seen.has(real)) return [];
  seen.add(real);
  const files: string[] = [];
  const entries = await readdir(directory, { withFileTypes: true });
  for (const entry of entries.sort((left, right) => compareText(left.name, right.name))) {
    if (entry.name.startsWith(".")) continue;
    const path = join(directory, entry.name);
    const target = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry;
    if (target?.isDirectory()) files.push(...(await listFiles(path, seen)));
    else if (target?.isFile() && /\.(?:ya?ml|json)$/i.test(entry.name)) files.push(path);
  }
  return files;
}

/** What a kustomization file counts as: the files beside it are read as they are. Its kind is optional. */
const KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

function isKustomization(name: string): boolean {
  return /^kustomization(?:\.ya?ml)?$/i.test(basename(name));
}

// As with `kubectl apply`: of two manifests of one object the later one counts.
function combine(files: readonly ManifestFile[]): Manifests {
  const problems = files.flatMap((file) => file.problems);
  const objects = new Map<string, ManifestObject>();
  const implied = new Map<string, ManifestObject>();
  const endpoints: ManifestObject[] = [];
  for (const found of files.flatMap((file) => file.objects)) {
    const identity = identifyObject(found.object);
    if (identity === undefined) {
      endpoints.push(found);
      continue;
    }
    const { kind, namespace, name } = identity;
    const key = JSON.stringify(identity);
    const before = objects.get(key);
    if (before !== undefined) {
      const { file, line, column } = before;
      const message = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name} is also in ${found.file}:${found.line}, which counts; delete one of the two`;
      problems.push({ code: "DuplicateObject", file, line, column, message });
    }
    objects.set(key, found);
    if (namespace !== "" && !implied.has(namespace)) implied.set(namespace, found);
  }
  problems.push(...findUnreadEndpoints(endpoints, objects));
  for (const [name, { file, line, column }] of implied) {
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    const key = JSON.stringify(identifyObject(object));
    if (objects.has(key)) continue;
    objects.set(key, { object, file, line, column });
  }
  return {
    objects: [...objects.values()],
    problems,
    ignored: files.flatMap((file) => file.ignored),
  };
}

/**
 * Endpoints of Services without a selector. A cluster makes EndpointSlices of them (Kubernetes,
 * EndpointSlices, "EndpointSlice mirroring"); here they are a problem if there is no slice.
 */
function* findUnreadEndpoints(
  endpoints: readonly ManifestObject[],
  objects: ReadonlyMap<string, ManifestObject>,
): Iterable<ManifestProblem> {
  const withSlices = new Set<string>();
  for (const { object } of objects.values()) {
    const { kind, namespace } = identifyObject(object)!;
    if (kind !== "EndpointSlice") continue;
    for (const { service } of findSliceOwners(object).owners) withSlices.add(`${namespace}/${service}`);
  }
  for (const { object, ...where } of endpoints) {
    const owner = identifyObject({ ...object, kind: "Service" });
    const service = objects.get(JSON.stringify(owner))?.object as
      | { spec?: { selector?: unknown } }
      | undefined;
    if (owner === undefined || service === undefined || withSlices.has(`${owner.namespace}/${owner.name}`))
      continue;
    if (Object.keys(readMapping(service.spec?.selector)).length > 0) continue;
    const message = `Endpoints ${owner.namespace}/${owner.name} are not read: write an EndpointSlice with the label ${SERVICE_NAME_LABEL}: ${owner.name}`;
    yield { code: "UnknownKind", ...where, message };
  }
}

/** A Kubernetes object with its file, line and column; lines and columns count from 1. */
export interface ManifestObject {
  readonly object: KubernetesObject;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A part of the manifests that cannot be read or used. */
export interface ManifestProblem {
  /** `BrokenFile` and `UnreadableFile` concern a whole file, the others one object. */
  readonly code: "BrokenFile" | "UnreadableFile" | "NotAnObject" | "UnknownKind" | "DuplicateObject";
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** Whether an earlier content of a broken or unreadable file counts. */
  readonly hasContent?: boolean;
}

/** The content of one file. A broken file has no objects. */
interface ManifestFile {
  readonly broken: boolean;
  /** Those that a snapshot uses, and `v1` Endpoints. */
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
  /** The kinds of objects that a snapshot does not use. */
  readonly ignored: readonly string[];
}

/**
 * Reads the text of a manifest file: YAML documents or JSON values, `List` objects as their items. Items
 * without a kind, as the API server returns them, have that of their list. Objects of kinds that a snapshot
 * does not use are left out, with a problem if the kind is probably misspelt. A syntax error breaks the whole
 * file, so that an unfinished edit never counts.
 */
export function parseManifestFile(file: string, text: string): ManifestFile {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1);
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const brokenAt = (offset: number, message: string): ManifestFile => ({
    broken: true,
    objects: [],
    problems: [{ code: "BrokenFile", ...place(offset), message }],
    ignored: [],
  });
  const documents = splitJson(text).flatMap(({ start, part }) =>
    parseKubernetesYaml(part).map((document) => ({ start, document })),
  );
  const errors = documents.flatMap(({ start, document }) =>
    document.errors.map(({ pos, message }) => ({ offset: start + pos[0], message })),
  );
  const [first] = errors;
  if (first !== undefined) {
    // One mistake makes the parser lose its place, and complain about what follows.
    const more = errors.length === 1 ? "" : ` (the first of ${errors.length} errors in this file)`;
    return brokenAt(first.offset, first.message + more);
  }

  const ignored: string[] = [];
  const objects: ManifestObject[] = [];
  const problems: ManifestProblem[] = [];
  const take = (value: unknown, node: unknown, start: number, list: KubernetesObject = {}) => {
    if (value === null || value === undefined) return;
    const where = place(start + (isNode(node) ? (node.range?.[0] ?? 0) : 0));
    const object: KubernetesObject & { items?: unknown } = { ...list, ...readMapping(value) };
    const { apiVersion, kind, items } = object;
    if (typeof kind !== "string" || typeof apiVersion !== "string") {
      const message = "is not a Kubernetes object: it needs an apiVersion and a kind";
      problems.push({ code: "NotAnObject", ...where, message });
      return;
    }
    if (kind.endsWith("List") && Array.isArray(items)) {
      const nodes = isMap(node) ? node.get("items", true) : undefined;
      const ofItems = kind === "List" ? {} : { apiVersion, kind: kind.slice(0, -"List".length) };
      for (const [index, item] of items.entries())
        take(item, isSeq(nodes) ? nodes.items[index] : node, start, ofItems);
      return;
    }
    const message = findIdentityProblem(object);
    const meant = suggestKind(object);
    if (message !== undefined) problems.push({ code: "NotAnObject", ...where, message });
    else if (meant !== undefined)
      problems.push({
        code: "UnknownKind",
        ...where,
        message: `kind ${quote(kind)} of ${quote(apiVersion)} is not read: write ${meant}`,
      });
    else {
      const isUsed = identifyObject(object) !== undefined;
      if (isUsed || (kind === "Endpoints" && apiVersion === "v1")) objects.push({ object, ...where });
      if (!isUsed) ignored.push(`${printable(kind)} (${printable(apiVersion)})`);
    }
  };
  for (const { start, document } of documents) {
    try {
      take(toValue(document), document.contents, start);
    } catch (cause) {
      // The error has no position.
      const message = cause instanceof Error ? cause.message : String(cause);
      return brokenAt(start + (findLostAlias(document) ?? document.range[0]), message);
    }
  }
  return { broken: false, objects, problems, ignored };
}

/**
 * The JSON values of a text, one after the other, as `jq .items[]` writes them; any other text, such as YAML
 * documents, is one part. Inside a value JSON has no two braces with nothing but a line break between them.
 */
function splitJson(text: string): { start: number; part: string }[] {
  if (!/^\s*\{/.test(text) || /^---/m.test(text)) return [{ start: 0, part: text }];
  let start = 0;
  return text.split(/(?<=\}[ \t]*\r?\n)(?=\s*\{)/).map((part) => {
    const at = start;
    start += part.length;
    return { start: at, part };
  });
}

/** Of what a file says, for a terminal. */
function printable(text: unknown): string {
  return String(text)
    .replaceAll(/[^\w./-]/g, "?")
    .slice(0, 100);
}

function findLostAlias(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      offset = alias.range?.[0];
      return visit.BREAK;
    },
  });
  return offset;
}
