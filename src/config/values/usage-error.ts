/** A user's mistake: its message is complete, and no stack is printed. */
export class UsageError extends Error {
  readonly code = "USAGE";
}
