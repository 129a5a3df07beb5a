/** Where a command prints whole lines: `out` what was asked for, `err` what is said about it. */
export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}
