/** A file that sets a client up. */
export interface SetupFile {
  /** The name that the client, or the person who copies it, expects. */
  readonly fileName: string;
  readonly contentType: string;
  readonly text: string;
}

export const PLAIN_TEXT = "text/plain; charset=utf-8";

/** A file of lines; the last one ends too. */
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
