/** A value, or a promise of it. A value that is already there is used in the same turn of the event loop. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Calls `next` with a value; in the same turn if the value is there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A value; the result of `next` if it is undefined. */
export function orElse<Value>(
  value: MaybePromise<Value | undefined>,
  next: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return andThen(value, (known) => known ?? next());
}
