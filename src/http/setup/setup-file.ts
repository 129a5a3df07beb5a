/** A configuration file for a client. */
export interface SetupFile {
  /** The file name that the client or its user expects. */
  readonly fileName: string;
  readonly contentType: string;
  readonly text: string;
}

export const PLAIN_TEXT = "text/plain; charset=utf-8";

/** A text file; its last line has a line end, too. */
export function textFile(fileName: string, lines: readonly string[], contentType = PLAIN_TEXT): SetupFile {
  return { fileName, contentType, text: `${lines.join("\n")}\n` };
}

/** A JSON file. */
export function jsonFile(fileName: string, value: unknown): SetupFile {
  return {
    fileName,
    contentType: "application/json; charset=utf-8",
    text: `${JSON.stringify(value, undefined, 2)}\n`,
  };
}
