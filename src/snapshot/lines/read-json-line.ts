import { isJsonObject, PROTOTYPE_KEY } from "../json-value.ts";
import { findDuplicateMember, findJsonError, JsonShape } from "./json-syntax.ts";
import { LinesError } from "./lines-error.ts";
import type { LineLimits } from "./patch-line.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The JSON value of a line. */
export interface JsonLine {
  readonly value: unknown;
  /** Its JSON. */
  readonly text: string;
  /** Members and elements, about. */
  readonly values: number;
  /** Whether an object at any depth has a member `__proto__`. */
  readonly hasPrototypeKey: boolean;
}

/**
 * Reads one line as JSON (RFC 8259). Bounds are checked before the parser makes objects.
 * @throws {LinesError} saying what is wrong where
 */
export function readJsonLine(bytes: Uint8Array, line: number, limits: LineLimits): JsonLine {
  const shape = new JsonShape();
  shape.feed(bytes);
  if (shape.deepest > limits.lineLevels)
    throw new LinesError("JSON_TOO_DEEP", line, `is nested more than ${limits.lineLevels} levels deep`);
  if (shape.values > limits.lineValues)
    throw new LinesError(
      "LINE_TOO_LONG",
      line,
      `has more than ${limits.lineValues} members and elements: split the entry`,
    );
  const text = decode(bytes, line);
  const value = parse(text, line);
  const counted: Counted = { members: 0, hasPrototypeKey: false };
  count(value, counted);
  if (counted.members !== shape.members) {
    const name = JSON.stringify(findDuplicateMember(text)?.slice(0, 300));
    throw new LinesError("INVALID_JSON", line, `one object has two members ${name}`);
  }
  return { value, text, values: shape.values, hasPrototypeKey: counted.hasPrototypeKey };
}

interface Counted {
  members: number;
  hasPrototypeKey: boolean;
}

function count(value: unknown, counted: Counted): void {
  if (Array.isArray(value)) for (const element of value) count(element, counted);
  else if (isJsonObject(value)) {
    if (Object.hasOwn(value, PROTOTYPE_KEY)) counted.hasPrototypeKey = true;
    for (const name of Object.keys(value)) {
      counted.members++;
      const member = value[name];
      if (typeof member === "object" && member !== null) count(member, counted);
    }
  }
}

function decode(bytes: Uint8Array, line: number): string {
  try {
    return decodeUtf8(bytes);
  } catch {
    throw new LinesError("INVALID_UTF8", line, "is not UTF-8");
  }
}

function parse(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The line end is white space in the grammar of JSON, so that an error at the end would be behind it.
    const json = text.endsWith("\n") ? text.slice(0, -1) : text;
    const position = findJsonError(json);
    const rest = json.slice(position, position + 12);
    const found = rest === "" ? "it ends" : `found ${JSON.stringify(rest)}`;
    throw new LinesError("INVALID_JSON", line, `is not JSON: ${found}`, position + 1);
  }
}
