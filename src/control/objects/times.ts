/** A time of the API (metav1.Time): RFC 3339 in whole seconds. @param milliseconds since the epoch */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** A time of the API in microseconds (metav1.MicroTime). @param milliseconds since the epoch */
export function toMicroTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
