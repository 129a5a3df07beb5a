/** A value that is there at once, or later: what is there at once is answered in the same turn, without a promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Goes on with a value; at once where it is there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A value, or what comes next where there is none. */
export function orElse<Value>(
  value: MaybePromise<Value | undefined>,
  next: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return andThen(value, (known) => known ?? next());
}
