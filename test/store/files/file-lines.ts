import { decodeLine } from "../../../src/store/files/checksum-line.ts";

/** A line of a file, and where it ends. */
export interface FileLine {
  readonly value: unknown;
  readonly end: number;
}

/** The lines of a file up to the first that is torn or altered. */
export function fileLines(bytes: Buffer): FileLine[] {
  const lines: FileLine[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf("\n", start);
    const line = newline === -1 ? undefined : decodeLine(bytes.subarray(start, newline));
    if (line === undefined) break;
    start = newline + 1;
    lines.push({ ...line, end: start });
  }
  return lines;
}

/** Where the records of a journal end. */
export function recordEnds(journal: Buffer): number[] {
  return fileLines(journal).flatMap(({ value, end }) =>
    Object.hasOwn(value as object, "lines") ? [end] : [],
  );
}
