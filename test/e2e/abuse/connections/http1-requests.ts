import { LINES_TYPE } from "../../../snapshot/lines/push-lines.ts";
import { WEB } from "../../clients/listening-gateway.ts";
import { queryBytes } from "../../servers/dns.ts";

/** A request of HTTP/1.1 in bytes. */
export interface Http1Request {
  readonly title: string;
  readonly bytes: Buffer;
  /** What the client does behind it. Default: nothing. */
  readonly end?: "half-close" | "reset";
}

const QUERY = queryBytes({ name: WEB, type: "A" }, 0);
const GET = `/dns-query?dns=${QUERY.toString("base64url")}`;
const DNS = "content-type: application/dns-message\r\n";
const SIZED = `${DNS}content-length: ${QUERY.length}\r\n`;
const CHUNKED = `${DNS}transfer-encoding: chunked\r\n`;
const PUSHED = '{"formatVersion":2,"clusterId":"cluster-b"}\n["exports",';

type Part = string | Buffer;

function head(method: string, path: string, fields = ""): string {
  return `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${fields}\r\n`;
}

function request(title: string, ...parts: readonly Part[]): Http1Request {
  return { title, bytes: Buffer.concat(parts.map((part) => Buffer.from(part as string, "latin1"))) };
}

function bare(method: string, path: string, fields = ""): Http1Request {
  return request(
    `${method} ${path.replace(/\?.*/s, "")} ${fields.slice(0, 40).trim()}`,
    head(method, path, fields),
  );
}

const chunk = (body: Buffer, length = body.length.toString(16)) =>
  Buffer.concat([Buffer.from(`${length}\r\n`), body, Buffer.from("\r\n")]);
const NOTHING_LEFT = "0\r\n\r\n";
const half = QUERY.subarray(0, QUERY.length >> 1);
const post = (fields: string) => head("POST", "/dns-query", fields);

/** Requests that are whole, so that the next one follows on the same connection. */
const whole: readonly Http1Request[] = [
  bare("GET", GET),
  bare("GET", "/dns-query?dns=!"),
  bare("HEAD", GET),
  ...["/", "/setup", "/healthz", "/nowhere", "*"].map((path) => bare("GET", path)),
  bare("OPTIONS", "/dns-query", "origin: https://example.org\r\naccess-control-request-method: POST\r\n"),
  bare("TRACE", "/"),
  bare("GET", "/", "x: y\r\n".repeat(100)),
  bare(
    "GET",
    "/",
    "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n",
  ),
  request("POST", post(SIZED), QUERY),
  request("POST in chunks", post(CHUNKED), chunk(half), chunk(QUERY.subarray(half.length)), NOTHING_LEFT),
  request("POST with trailers", post(CHUNKED), chunk(QUERY), "0\r\nx: y\r\n\r\n"),
  request("POST with expect", post(`${SIZED}expect: 100-continue\r\n`), QUERY),
  request("POST with another expectation", post(`${SIZED}expect: 200-ok\r\n`), QUERY),
  request("POST of nothing", post(`${DNS}content-length: 0\r\n`)),
];

/** Requests behind which nothing can follow. */
const broken: readonly Http1Request[] = [
  request("a length that is too great", post(`${DNS}content-length: 70000\r\n`), QUERY),
  request("a length that is too small", post(`${DNS}content-length: 5\r\n`), QUERY),
  request("two lengths", post(`${SIZED}content-length: 3\r\n`), QUERY),
  request("a length and chunks", post(`${SIZED}transfer-encoding: chunked\r\n`), chunk(QUERY), NOTHING_LEFT),
  request("a negative length", post(`${DNS}content-length: -1\r\n`), QUERY),
  request("a chunk longer than it says", post(CHUNKED), chunk(QUERY, "3"), NOTHING_LEFT),
  request("a chunk of a length that is none", post(CHUNKED), chunk(QUERY, "xyz"), NOTHING_LEFT),
  request("a chunk of a length that overflows", post(CHUNKED), chunk(QUERY, "f".repeat(17))),
  request("a chunk extension without end", post(CHUNKED), `5;${"x".repeat(20_000)}`),
  request("trailers without end", post(CHUNKED), chunk(QUERY), `0\r\n${"x: y\r\n".repeat(5000)}`),
  request(
    "more header than is read",
    `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
  ),
  request("a header that is no field", "GET / HTTP/1.1\r\nhost: localhost\r\nx\0y\r\n\r\n"),
  request("no version", "GET /\r\n\r\n"),
  request("another version", "GET / HTTP/9.9\r\n\r\n"),
  request("no host", "GET / HTTP/1.1\r\n\r\n"),
  request("CONNECT", head("CONNECT", "localhost:443")),
  request("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0"),
  request("a TLS handshake", Buffer.from("16030100c8010000c40303", "hex"), Buffer.alloc(192)),
  { ...request("half of a body, and the end", post(SIZED), half), end: "half-close" },
  { ...request("half of a body, and RST", post(SIZED), half), end: "reset" },
  { ...request("half of a chunk, and RST", post(CHUNKED), chunk(half), "20\r\nabc"), end: "reset" },
  { ...request("half of a header, and the end", "GET / HTTP/1.1\r\nhos"), end: "half-close" },
  { ...request("half of a header, and RST", "GET / HTTP/1.1\r\nhos"), end: "reset" },
  { ...request("a page, and RST", head("GET", "/setup")), end: "reset" },
];

/** Requests of every kind. @param token that of cluster-b, whose pushes are no snapshots */
export function http1Requests(token: string): {
  whole: readonly Http1Request[];
  broken: readonly Http1Request[];
} {
  const pushes = ["wrong", token].map((shown, index) => {
    const fields = `authorization: Bearer ${shown}\r\ncontent-length: ${PUSHED.length}\r\n`;
    const start = head(
      "PUT",
      "/api/v1/clusters/cluster-b/snapshot",
      `content-type: ${LINES_TYPE}\r\n${fields}`,
    );
    return request(`a push with token ${index}`, start, PUSHED);
  });
  return { whole: [...whole, ...pushes], broken };
}
