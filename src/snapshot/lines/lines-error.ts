/** Why lines cannot be read. */
export type LinesErrorCode =
  | "INVALID_UTF8"
  | "INVALID_JSON"
  | "INVALID_LINE"
  | "UNSUPPORTED_FORMAT"
  | "LINE_TOO_LONG"
  | "JSON_TOO_DEEP"
  | "END_MISSING"
  | "END_MISMATCH";

/** Lines cannot be read: the first error, with the number of its line. */
export class LinesError extends Error {
  readonly code: LinesErrorCode;
  /** From 1. */
  readonly line: number;
  /** Where the JSON stops being valid, in UTF-16 code units from 1. */
  readonly column: number | undefined;

  constructor(code: LinesErrorCode, line: number, message: string, column?: number) {
    super(`line ${line}${column === undefined ? "" : `, column ${column}`}: ${message}`);
    this.code = code;
    this.line = line;
    this.column = column;
  }
}
