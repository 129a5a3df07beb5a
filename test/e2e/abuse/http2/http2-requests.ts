import { WEB } from "../../clients/listening-gateway.ts";
import { queryBytes } from "../../servers/dns.ts";
import { headerBlock } from "./header-block.ts";
import { Flag, FrameType, frame, uint32 } from "./http2-frames.ts";

/** A request of one kind, as the frames of one stream. */
export interface Http2Request {
  readonly title: string;
  /** Whether its frames are a violation by themselves, which may end the connection. */
  readonly isViolation?: true;
  readonly frames: (stream: number) => readonly Buffer[];
}

const QUERY = queryBytes({ name: WEB, type: "A" }, 0);
const DNS = { "content-type": "application/dns-message" };
const SIZED = { ...DNS, "content-length": String(QUERY.length) };
const JSON_BODY = { "content-type": "application/json" };
const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
const CANCEL = uint32(8);
const TRAILERS = Buffer.from([0, 1, 0x78, 1, 0x79]);
const CLUSTER = "/api/v1/clusters/cluster-b";

type Fields = Readonly<Record<string, string>>;

const begin = (stream: number, method: string, path: string, fields: Fields = {}) =>
  frame(FrameType.HEADERS, Flag.END_HEADERS, stream, headerBlock(method, path, fields));
const data = (stream: number, body: Uint8Array, flags = 0) => frame(FrameType.DATA, flags, stream, body);
const trailers = (stream: number) => frame(FrameType.HEADERS, WHOLE, stream, TRAILERS);
const reset = (stream: number) => frame(FrameType.RST_STREAM, 0, stream, CANCEL);

/** A request without a body. */
function bare(method: string, path: string, fields: Fields = {}): Http2Request {
  return {
    title: `${method} ${path.replace(/\?.*/s, "")}${Object.keys(fields).length > 0 ? " with fields" : ""}`,
    frames: (stream) => [frame(FrameType.HEADERS, WHOLE, stream, headerBlock(method, path, fields))],
  };
}

/** A request with a body, in each way that one may end. */
function withBody(
  method: string,
  path: string,
  fields: Fields,
  body: Uint8Array,
  what: string,
): Http2Request[] {
  const head = (stream: number) => begin(stream, method, path, fields);
  const half = body.subarray(0, body.length >> 1);
  const title = `${method} ${path} ${what}`;
  return [
    {
      title: `${title}, ended by DATA`,
      frames: (stream) => [head(stream), data(stream, body, Flag.END_STREAM)],
    },
    {
      title: `${title}, ended by empty DATA`,
      frames: (stream) => [head(stream), data(stream, body), data(stream, NOTHING, Flag.END_STREAM)],
    },
    {
      title: `${title}, ended by trailers`,
      frames: (stream) => [head(stream), data(stream, body), trailers(stream)],
    },
    { title: `${title}, of headers alone`, frames: (stream) => [head(stream)] },
    { title: `${title}, unfinished`, frames: (stream) => [head(stream), data(stream, half)] },
    {
      title: `${title}, reset in the middle`,
      frames: (stream) => [head(stream), data(stream, half), reset(stream)],
    },
    {
      title: `${title}, ended too early`,
      frames: (stream) => [head(stream), data(stream, half, Flag.END_STREAM)],
    },
    {
      title: `${title}, followed by more DATA`,
      isViolation: true,
      frames: (stream) => [head(stream), data(stream, body, Flag.END_STREAM), data(stream, half)],
    },
  ];
}

const NOTHING = Buffer.alloc(0);
const manyFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "y"]));

/** DNS queries, as clients send them and as they must not. */
const queries: readonly Http2Request[] = [
  bare("GET", `/dns-query?dns=${QUERY.toString("base64url")}`),
  bare("GET", `/clusters/cluster-a/dns-query?dns=${QUERY.toString("base64url")}`),
  bare("GET", "/dns-query?dns=!"),
  bare("HEAD", `/dns-query?dns=${QUERY.toString("base64url")}`),
  bare("GET", `/resolve?name=${WEB}&type=A`),
  bare("POST", "/dns-query", DNS),
  ...withBody("POST", "/dns-query", DNS, QUERY, "without length"),
  ...withBody("POST", "/dns-query", SIZED, QUERY, "with length"),
  ...withBody("POST", "/dns-query", { ...DNS, "content-length": "70000" }, QUERY, "with too great a length"),
  ...withBody("POST", "/dns-query", { ...DNS, expect: "100-continue" }, QUERY, "with expect"),
  ...withBody("POST", "/dns-query", { ...SIZED, expect: "100-continue" }, QUERY, "with length and expect"),
  ...withBody("POST", "/dns-query", DNS, Buffer.alloc(16_000), "of other bytes"),
];

/** All requests except DNS queries. */
const others: readonly Http2Request[] = [
  ...["/", "/setup", "/healthz", "/readyz", "/metrics", "/nowhere", "/.well-known/nothing"].map((path) =>
    bare("GET", path),
  ),
  bare("OPTIONS", "/dns-query", { origin: "https://example.org", "access-control-request-method": "POST" }),
  bare("OPTIONS", "*"),
  bare("DELETE", "/dns-query"),
  bare("TRACE", "/"),
  bare("CONNECT", "/"),
  bare("GET", "/", manyFields(100)),
  bare("GET", "/", manyFields(300)),
  bare("GET", "/dns-query", { x: "y".repeat(15_000) }),
  bare("GET", "/", { connection: "upgrade", upgrade: "websocket" }),
  bare("GET", "/", { expect: "100-continue" }),
  bare("GET", "/", { "content-length": "5" }),
  ...withBody("POST", "/nowhere", {}, QUERY, "without length"),
  { title: "trailers alone", isViolation: true, frames: (stream) => [trailers(stream)] },
  {
    title: "GET /setup, reset at once",
    frames: (stream) => [...bare("GET", "/setup").frames(stream), reset(stream)],
  },
  {
    title: "GET /setup, with an increment of 0",
    isViolation: true,
    frames: (stream) => [
      ...bare("GET", "/setup").frames(stream),
      frame(FrameType.WINDOW_UPDATE, 0, stream, uint32(0)),
    ],
  },
];

/** Pushes that change nothing: without a credential, and by a cluster whose body is not a snapshot. */
function pushes(token: string): Http2Request[] {
  const body = Buffer.from('{"clusterId":"cluster-b","exports":');
  const as = (authorization?: string): Fields =>
    authorization === undefined ? JSON_BODY : { ...JSON_BODY, authorization };
  return [
    bare("GET", CLUSTER),
    bare("GET", CLUSTER, { authorization: `Bearer ${token}` }),
    ...["PUT", "PATCH"].flatMap((method) => [
      ...withBody(method, `${CLUSTER}/snapshot`, as(), body, "without token"),
      ...withBody(method, `${CLUSTER}/snapshot`, as("Bearer wrong"), body, "with a wrong token"),
      ...withBody(method, `${CLUSTER}/snapshot`, as(`Bearer ${token}`), body, "with its token"),
    ]),
  ];
}

/** Requests of every kind. @param token that of cluster-b */
export function http2Requests(token: string): readonly Http2Request[] {
  return [...queries, ...others, ...pushes(token)];
}
