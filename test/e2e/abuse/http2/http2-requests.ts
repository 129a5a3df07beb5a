import { frame } from "../../../hosts/server/http2-frames.ts";
import { WEB } from "../../clients/listening-gateway.ts";
import { queryBytes } from "../../servers/dns.ts";
import { Flag, FrameType, headerBlock, uint32, WHOLE } from "./http2-frames.ts";

/** A request of one kind, as the frames of a stream. */
export type Http2Request = (stream: number) => Buffer[];

const QUERY = queryBytes({ name: WEB, type: "A" }, 0);
const DNS = { "content-type": "application/dns-message" };
const SIZED = { ...DNS, "content-length": String(QUERY.length) };
const LINES = { "content-type": "application/x-ndjson" };
const TRAILERS = Buffer.from([0, 1, 0x78, 1, 0x79]);
const CLUSTER = "/api/v1/clusters/cluster-b";

type Fields = Readonly<Record<string, string>>;

const data = (stream: number, body: Uint8Array, flags = 0) => frame(FrameType.DATA, flags, stream, body);
const reset = (stream: number) => frame(FrameType.RST_STREAM, 0, stream, uint32(8));

/** A request without a body. */
function bare(method: string, path: string, fields: Fields = {}): Http2Request {
  return (stream) => [frame(FrameType.HEADERS, WHOLE, stream, headerBlock(method, path, fields))];
}

/** A request with a body, in each way that one may end. */
function withBody(method: string, path: string, fields: Fields, body: Uint8Array): Http2Request[] {
  const head = (stream: number) =>
    frame(FrameType.HEADERS, Flag.END_HEADERS, stream, headerBlock(method, path, fields));
  const half = body.subarray(0, body.length >> 1);
  const nothing = Buffer.alloc(0);
  return [
    (stream) => [head(stream), data(stream, body, Flag.END_STREAM)],
    (stream) => [head(stream), data(stream, body), data(stream, nothing, Flag.END_STREAM)],
    (stream) => [head(stream), data(stream, body), frame(FrameType.HEADERS, WHOLE, stream, TRAILERS)],
    (stream) => [head(stream)],
    (stream) => [head(stream), data(stream, half)],
    (stream) => [head(stream), data(stream, half), reset(stream)],
    (stream) => [head(stream), data(stream, half, Flag.END_STREAM)],
  ];
}

const manyFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "y"]));

/** DNS queries, as clients send them and as they must not. */
const queries: readonly Http2Request[] = [
  bare("GET", `/dns-query?dns=${QUERY.toString("base64url")}`),
  bare("GET", "/dns-query?dns=!"),
  bare("HEAD", `/dns-query?dns=${QUERY.toString("base64url")}`),
  bare("POST", "/dns-query", DNS),
  ...withBody("POST", "/dns-query", DNS, QUERY),
  ...withBody("POST", "/dns-query", SIZED, QUERY),
  ...withBody("POST", "/dns-query", { ...DNS, "content-length": "70000" }, QUERY),
  ...withBody("POST", "/dns-query", { ...SIZED, expect: "100-continue" }, QUERY),
  ...withBody("POST", "/dns-query", DNS, Buffer.alloc(16_000)),
];

const others: readonly Http2Request[] = [
  ...["/", "/healthz", "/nowhere"].map((path) => bare("GET", path)),
  bare("OPTIONS", "/dns-query", { origin: "https://example.org", "access-control-request-method": "POST" }),
  bare("OPTIONS", "*"),
  bare("TRACE", "/"),
  bare("CONNECT", "/"),
  bare("GET", "/", manyFields(100)),
  bare("GET", "/", manyFields(300)),
  bare("GET", "/dns-query", { x: "y".repeat(15_000) }),
  bare("GET", "/", { connection: "upgrade", upgrade: "websocket" }),
  bare("GET", "/", { "content-length": "5" }),
  (stream) => [...bare("GET", "/setup")(stream), reset(stream)],
];

/** Requests of every kind. @param token that of cluster-b, whose pushes are no snapshots */
export function http2Requests(token: string): readonly Http2Request[] {
  const body = Buffer.from('{"formatVersion":2,"clusterId":"cluster-b"}\n["exports",');
  const pushes = [{}, { authorization: `Bearer ${token}` }].flatMap((shown) =>
    withBody("PUT", `${CLUSTER}/snapshot`, { ...LINES, ...shown }, body),
  );
  return [...queries, ...others, ...pushes];
}
