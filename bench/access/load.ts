import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { CONNECTIONS, STREAMS } from "../cpu/h2load.ts";

/** How a DNS resource is asked by somebody who shows who they are. */
export interface Asking {
  /** Where the server listens. */
  readonly origin: string;
  /** The PEM text to check its certificate against. */
  readonly ca: string;
  readonly path: string;
  /** The name in `:authority` and in TLS. Default: that of `origin`. */
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/**
 * Connections that stay open between samples, so that handshakes are no part of them. h2load takes no client
 * certificate.
 */
export interface OpenLoad {
  /** Sends GETs of these queries in turn. @throws {Error} for any answer but 200 */
  readonly send: (requests: number, queries: readonly string[]) => Promise<void>;
  readonly close: () => void;
}

/** Opens the connections: as many, and as many requests in flight on each, as h2load has. */
export async function openLoad(asking: Asking): Promise<OpenLoad> {
  const { origin, ca, host, certificate } = asking;
  const sessions = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const session = connect(origin, {
        ca,
        ...(host !== undefined && { servername: host }),
        ...certificate,
      });
      await once(session, "connect");
      return session;
    }),
  );
  return {
    async send(requests, queries) {
      let left = requests;
      const lane = async (session: ClientHttp2Session) => {
        while (left > 0) await ask(session, asking, queries[--left % queries.length]!);
      };
      await Promise.all(sessions.flatMap((session) => Array.from({ length: STREAMS }, () => lane(session))));
    },
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

function ask(session: ClientHttp2Session, { path, host, headers }: Asking, query: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":path": `${path}?dns=${query}`,
      ...(host !== undefined && { ":authority": host }),
      accept: "application/dns-message",
      ...headers,
    });
    let status = 0;
    stream.on("response", (fields) => {
      status = Number(fields[":status"]);
    });
    stream.on("error", reject);
    stream.on("end", () => (status === 200 ? resolve() : reject(new Error(`${path}: ${status}`))));
    stream.resume();
  });
}
