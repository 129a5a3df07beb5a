import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  visit,
} from "yaml";
import { quote } from "../extract/fields.ts";
import { identifyObject } from "../extract/identity.ts";
import { suggestKind } from "../extract/misspelt.ts";
import type { KubernetesObject } from "../extract/objects.ts";

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
export interface ManifestFile {
  readonly broken: boolean;
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * Reads the text of a manifest file: YAML documents or JSON, `List` objects as their items. Objects of kinds
 * that a snapshot does not use are left out, with a problem if the kind is probably misspelt. A syntax error breaks the whole file, so that
 * an unfinished edit never counts.
 */
export function parseManifestFile(file: string, text: string): ManifestFile {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (!Array.isArray(documents)) return { broken: false, objects: [], problems: [] };
  const errors = documents.flatMap((document) => document.errors);
  const [first] = errors;
  if (first !== undefined) {
    // One mistake makes the parser lose its place, and complain about what follows.
    const more = errors.length === 1 ? "" : ` (the first of ${errors.length} errors in this file)`;
    const problem = { code: "BrokenFile", ...place(first.pos[0]), message: first.message + more } as const;
    return { broken: true, objects: [], problems: [problem] };
  }

  const objects: ManifestObject[] = [];
  const problems: ManifestProblem[] = [];
  const take = (node: Node | null | undefined, read: () => unknown) => {
    if (node === null || node === undefined || (isScalar(node) && node.value === null)) return;
    const where = place(node.range?.[0] ?? 0);
    if (!isMap(node) || typeof node.get("kind") !== "string" || typeof node.get("apiVersion") !== "string") {
      const message = "is not a Kubernetes object: it needs an apiVersion and a kind";
      problems.push({ code: "NotAnObject", ...where, message });
      return;
    }
    const items = node.get("items", true);
    if (String(node.get("kind")).endsWith("List") && isSeq(items)) {
      const values = (read() as { items: unknown[] }).items;
      for (const [index, item] of items.items.entries()) take(item as Node | null, () => values[index]);
      return;
    }
    const object = read() as KubernetesObject;
    const meant = suggestKind(object);
    if (meant !== undefined)
      problems.push({
        code: "UnknownKind",
        ...where,
        message: `kind ${quote(object.kind)} of ${quote(object.apiVersion)} is not read: write ${meant}`,
      });
    else if (identifyObject(object) !== undefined) objects.push({ object, ...where });
  };
  for (const document of documents) {
    try {
      take(document.contents, () => document.toJS({ maxAliasCount: 100 }));
    } catch (cause) {
      // toJS throws for YAML aliases without an anchor and for too many aliases, without a position.
      const message = cause instanceof Error ? cause.message : String(cause);
      const problem: ManifestProblem = {
        code: "BrokenFile",
        ...place(findLostAlias(document) ?? document.range[0]),
        message,
      };
      return { broken: true, objects: [], problems: [problem] };
    }
  }
  return { broken: false, objects, problems };
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
