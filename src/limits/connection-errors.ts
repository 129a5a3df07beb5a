/** The object that reported an error: the label `source` of `clusterset_doh_connection_errors_total`. */
export const ERROR_SOURCES = ["tcp", "tls", "http1", "http2", "dns_udp", "dns_tcp", "dot", "server"] as const;

export type ErrorSource = (typeof ERROR_SOURCES)[number];

/** Counts the errors of connections. An error ends only its connection. */
export class ConnectionErrors {
  /** Listeners for `error` events, one for each source: adding one costs no closure. */
  readonly listeners: Readonly<Record<ErrorSource, (error: Error) => void>>;
  readonly #counts = new Map<ErrorSource, number>(ERROR_SOURCES.map((source) => [source, 0]));
  readonly #log: (source: ErrorSource, error: Error) => void;

  /** @param log called for every error. Default: errors are only counted */
  constructor(log: (source: ErrorSource, error: Error) => void = () => {}) {
    this.#log = log;
    const listeners = ERROR_SOURCES.map((source) => [source, (error: Error) => this.#seen(source, error)]);
    this.listeners = Object.fromEntries(listeners);
  }

  /** Every source, also those without an error. */
  counts(): ReadonlyMap<ErrorSource, number> {
    return this.#counts;
  }

  #seen(source: ErrorSource, error: Error): void {
    this.#counts.set(source, this.#counts.get(source)! + 1);
    this.#log(source, error);
  }
}
