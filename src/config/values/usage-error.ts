/** A mistake of the person at the keyboard: its message is all they need to see. */
export class UsageError extends Error {
  readonly code = "USAGE";
}
