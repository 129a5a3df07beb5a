/** The output of a command in whole lines: `out` for results, `err` for messages. */
export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}
