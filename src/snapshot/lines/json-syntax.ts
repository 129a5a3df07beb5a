const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Follows the shape of a JSON text in UTF-8, part by part. For any other text each number is at least what a parser would meet. */
export class JsonShape {
  /** The deepest level so far. */
  deepest = 0;
  /** Members and elements so far, about: commas, and what stands first in an object or an array. */
  values = 0;
  /** Members of objects so far: colons outside of strings. */
  members = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** Takes the next part. */
  feed(part: Uint8Array): void {
    let { deepest, values, members } = this;
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let index = 0; index < part.length; index++) {
      const byte = part[index]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) values++;
      else if (byte === COLON) members++;
      // "[" and "{" differ in one bit, and so do "]" and "}".
      else if ((byte | 0x20) === 0x7b) {
        values++;
        if (++depth > deepest) deepest = depth;
      } else if ((byte | 0x20) === 0x7d) depth--;
    }
    this.deepest = deepest;
    this.values = values;
    this.members = members;
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
  }
}

const SPACE = /[\t\n\r ]*/y;
// Unescaped characters are all but controls, the quote and the backslash (RFC 8259 section 7).
const STRING = /"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*"/uy;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])/y;

/**
 * The offset of the first token that does not fit the grammar of JSON (RFC 8259); the text's length if all fit. The
 * text's nesting must be bounded.
 * @param onMember called with the name of each member and its object's number
 */
export function findJsonError(text: string, onMember?: (name: string, object: number) => void): number {
  let objects = 0;
  let at = 0;
  const take = (token: RegExp): boolean => {
    token.lastIndex = at;
    const found = token.test(text);
    if (found) at = token.lastIndex;
    return found;
  };
  const takeCharacter = (character: string): boolean => {
    take(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const takeList = (end: string, takeItem: () => boolean): boolean => {
    if (takeCharacter(end)) return true;
    do if (!takeItem()) return false;
    while (takeCharacter(","));
    return takeCharacter(end);
  };
  const takeMember = (object: number): boolean => {
    take(SPACE);
    const start = at;
    if (!take(STRING)) return false;
    onMember?.(JSON.parse(text.slice(start, at)), object);
    return takeCharacter(":") && takeValue();
  };
  const takeValue = (): boolean => {
    if (takeCharacter("{")) {
      const object = objects++;
      return takeList("}", () => takeMember(object));
    }
    if (takeCharacter("[")) return takeList("]", takeValue);
    return take(STRING) || take(SCALAR);
  };
  if (takeValue()) take(SPACE);
  return at;
}

/** The first name that two members of one object have; undefined if there is none. */
export function findDuplicateMember(text: string): string | undefined {
  const names = new Map<number, Set<string>>();
  let duplicate: string | undefined;
  findJsonError(text, (name, object) => {
    const known = names.get(object) ?? new Set();
    if (known.has(name)) duplicate ??= name;
    names.set(object, known.add(name));
  });
  return duplicate;
}

/** The line and column (both from 1) of an offset in a text. */
export function lineAndColumn(
  text: string,
  offset: number,
): { readonly line: number; readonly column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}
