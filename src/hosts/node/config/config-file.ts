import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { UsageError } from "../../../config/values.ts";

/** A config file, unchecked. */
export interface ConfigFile {
  readonly path: string;
  readonly values: Record<string, unknown>;
  /** The line of a key, or of the nearest key around it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
}

/**
 * Reads a config file in YAML or JSON. Paths in it are relative to its folder.
 * @throws {UsageError} if it cannot be read, with the line that is not valid YAML
 */
export function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the config file: ${(error as Error).message}`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problem = document.errors[0];
  if (problem !== undefined)
    throw new UsageError(`${path}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`);
  const values: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (!isMapping(values))
    throw new UsageError(
      `${path}:1: a config file holds keys and values, see docs/reference/configuration.md`,
    );
  const lineOf = (keys: readonly PropertyKey[]): number | undefined => {
    let node: unknown = document.contents;
    let line: number | undefined;
    for (const key of keys) {
      const pair = isMap(node)
        ? node.items.find((item) => isScalar(item.key) && item.key.value === key)
        : undefined;
      const found = isSeq(node) ? node.items[Number(key)] : pair?.key;
      if (isNode(found) && found.range) line = lines.linePos(found.range[0]).line;
      node = isSeq(node) ? found : pair?.value;
    }
    return line;
  };
  return { path, values: fromFolder(dirname(path), values) as Record<string, unknown>, lineOf };
}

/** Whether a value is a mapping of YAML, an object of JSON. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const IS_PATH = /^stateDirectory$|File$/;
/** Mappings whose keys are names that users chose. */
const NAMED_ELSEWHERE = new Set(["claims", "jwks"]);

function fromFolder(folder: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => fromFolder(folder, one));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => {
      if (typeof held === "string") return [key, IS_PATH.test(key) ? resolve(folder, held) : held];
      return [key, NAMED_ELSEWHERE.has(key) ? held : fromFolder(folder, held)];
    }),
  );
}
