/** Metrics in a text format, from whichever library the host brings along. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}
