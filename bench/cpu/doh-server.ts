/** A DoH server under load. */
export interface DohServer {
  readonly name: string;
  readonly url: string;
  /** The PEM text to check its certificate against. */
  readonly ca: string;
  readonly pid: number;
  /** What requests need beside the query. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly stop: () => Promise<unknown>;
}
