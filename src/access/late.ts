/** A value that is there at once, or later. */
export type Late<Value> = Value | Promise<Value>;

/** Goes on with a value; at once where it is there. */
export function andThen<Value, Next>(value: Late<Value>, next: (value: Value) => Late<Next>): Late<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A value, or what comes next where there is none. */
export function orElse<Value>(value: Late<Value | undefined>, next: () => Late<Value>): Late<Value> {
  return andThen(value, (known) => known ?? next());
}
