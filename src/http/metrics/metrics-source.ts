/** Metrics in a text format, from the library of the host. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}
