/** What came back for a query: an answer, another status of HTTP, or nothing, by silence or by the end of the connection. */
export type Reaction = Buffer | number | "nothing";

/** A way to ask many queries at once. */
export interface QueryTransport {
  readonly name: string;
  readonly isDatagram: boolean;
  /** The reaction to bytes that are not a query. */
  readonly noQuery: Reaction;
  /** Sends all queries, several in flight; the reactions are in their order. IDs have to differ. */
  exchange(queries: readonly Buffer[]): Promise<Reaction[]>;
  close(): void;
}

/** Whether these bytes are a query at all: whole header, QR clear (RFC 1035 section 4.1.1). */
export function isQuery(bytes: Buffer): boolean {
  return bytes.length >= 12 && (bytes[2]! & 0x80) === 0;
}
