import type { OutgoingHttpHeaders } from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type RequestOptions, request as requestHttp1 } from "node:https";

/** A request that is sent over one version of HTTP. */
export interface VersionedRequest {
  readonly method: string;
  readonly path: string;
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  /** Whether the body is sent without its length: in chunks, or in DATA frames alone. */
  readonly isStreamed?: boolean;
  /** Fields after the body. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** What came back. */
export interface VersionedResponse {
  /** Interim responses. */
  readonly interim: readonly number[];
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The fields that belong to a version or its connection (RFC 9113 section 8.2.2), and the time of the response. */
const OF_VERSION: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding", "date"]);

/** Sends one request over HTTP/1.1. */
export function sendHttp1(
  url: string,
  ca: string,
  { method, path, fields = {}, body, isStreamed, trailers }: VersionedRequest,
): Promise<VersionedResponse> {
  const length = lengthOf(body);
  const declared = body !== undefined && !isStreamed && trailers === undefined;
  const headers = {
    ...fields,
    ...(declared && { "content-length": String(length) }),
    ...(trailers !== undefined && { trailer: Object.keys(trailers).join(", ") }),
    ...(!declared && body !== undefined && { "transfer-encoding": "chunked" }),
  };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const options: RequestOptions = { method, path, hostname, port, ca, agent: false };
    const sent = requestHttp1({ ...options, headers: headers as OutgoingHttpHeaders });
    const interim: number[] = [];
    const write = () => {
      if (trailers !== undefined) sent.addTrailers(trailers);
      sent.end(body);
    };
    sent.on("information", ({ statusCode }) => interim.push(statusCode));
    sent.on("continue", () => {
      interim.push(100);
      write();
    });
    sent.on("response", (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => {
        resolve({
          interim: interim.filter((status, at) => status !== interim[at - 1]),
          status: answer.statusCode!,
          fields: ownFields(answer.headers),
          body: Buffer.concat(parts).toString("latin1"),
        });
        sent.destroy();
      });
    });
    sent.on("error", reject);
    if (fields.expect === undefined) write();
    else sent.flushHeaders();
  });
}

/** Sends one request over HTTP/2. */
export async function sendHttp2(
  url: string,
  ca: string,
  { method, path, fields = {}, body, isStreamed, trailers }: VersionedRequest,
): Promise<VersionedResponse> {
  const session: ClientHttp2Session = connect(url, { ca });
  try {
    return await new Promise((resolve, reject) => {
      session.on("error", reject);
      const declared = body !== undefined && !isStreamed && trailers === undefined;
      const stream = session.request(
        {
          ...(fields as Record<string, string | string[]>),
          ...(declared && { "content-length": String(lengthOf(body)) }),
          [constants.HTTP2_HEADER_METHOD]: method,
          [constants.HTTP2_HEADER_PATH]: path,
        },
        { waitForTrailers: trailers !== undefined, endStream: body === undefined && trailers === undefined },
      );
      const interim: number[] = [];
      const parts: Buffer[] = [];
      stream.on("wantTrailers", () => stream.sendTrailers(trailers!));
      stream.on("headers", (more) => interim.push(Number(more[":status"])));
      stream.on("data", (part) => parts.push(part));
      stream.on("error", reject);
      stream.on("response", ({ ":status": status, ...headers }) =>
        stream.on("end", () =>
          resolve({
            ...{ interim, status: status!, fields: ownFields(headers) },
            body: Buffer.concat(parts).toString("latin1"),
          }),
        ),
      );
      if (fields.expect === undefined) stream.end(body);
      else stream.on("continue", () => stream.end(body));
    });
  } finally {
    session.destroy();
  }
}

function lengthOf(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : Buffer.byteLength(body);
}

function ownFields(headers: object): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => !OF_VERSION.has(name));
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]).sort());
}
