import type { Client } from "../../access/client.ts";
import type { MaybePromise } from "../../access/url-tokens.ts";
import { readAtMost } from "../../dns/bounded-body.ts";
import type { Background } from "../../transfer/secondary.ts";

/**
 * A request to the DNS and JSON routes, with the members that every host has without making a Request object.
 * On Node a Request and a Response cost more than the answer (docs/explanation/benchmarks.md).
 */
export interface HttpRequest {
  readonly method: string;
  /** The path and query, or the whole URL. */
  readonly url: string;
  /**
   * The requested host, with its port if it has one (RFC 9110 section 7.2); empty if the client names no
   * host.
   */
  readonly host: string;
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null if it is absent. */
  header(name: string): string | null;
  /**
   * The body; undefined if it is longer than `most` bytes. May be called once. Without a promise if the
   * request came whole; then its bytes may change after the turn.
   * @throws {Error} if the body ended before it was complete
   */
  body(most: number): MaybePromise<Uint8Array<ArrayBuffer> | undefined>;
}

/**
 * A response that every host can send. `headers` contain the body's length; callers must not change them,
 * since responses share them.
 */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** A body that is sent as it comes, instead of `body`. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

/**
 * Answers one request; without a promise if it can.
 * @param background runs work that continues after the response; default: nothing is needed
 */
export type Handler = (request: HttpRequest, background?: Background) => HttpResponse | Promise<HttpResponse>;

/** A request of the Fetch standard. */
export class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly client: Partial<Client> | undefined;
  readonly #request: Request;
  readonly #headers: Headers;

  /** @param url instead of the request's own */
  constructor(request: Request, client: Partial<Client> | undefined, url: string = request.url) {
    this.method = request.method;
    this.url = url;
    this.client = client;
    this.#request = request;
    this.#headers = request.headers;
  }

  get host(): string {
    const { url } = this.#request;
    const start = url.indexOf("//") + 2;
    const end = url.slice(start).search(/[/?#]/);
    return end === -1 ? url.slice(start) : url.slice(start, start + end);
  }

  header(name: string): string | null {
    return this.#headers.get(name);
  }

  /** The host enforces a declared length. */
  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const declared = this.header("content-length");
    if (declared === null) return readAtMost(this.#request.body, most);
    if (!(Number(declared) <= most)) return Promise.resolve(undefined);
    return this.#request
      .arrayBuffer()
      .then((body) => (body.byteLength <= most ? new Uint8Array(body) : undefined));
  }
}

/** The response as an object of the Fetch standard. */
export function toResponse({ status, headers, body }: HttpResponse): Response {
  return new Response(body, { status, headers });
}

const QUESTION_MARK = 0x3f;
const HASH = 0x23;

/** The path of a URL, or of a path with its query. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", 8));
  let end = start;
  for (; end < url.length; end++) {
    const code = url.charCodeAt(end);
    if (code === QUESTION_MARK || code === HASH) break;
  }
  return url.slice(start, end);
}

/**
 * A path whose unreserved characters are not percent-encoded: the same resource (RFC 3986 section 6.2.2.2).
 */
export function plainPath(path: string): string {
  return path.replace(/%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, (code) => decodeURIComponent(code));
}

/** A request with another URL. */
export function rerouted(request: HttpRequest, url: string): HttpRequest {
  const { method, host, client } = request;
  return {
    method,
    url,
    host,
    client,
    header: (name) => request.header(name),
    body: (most) => request.body(most),
  };
}

export const DNS_MESSAGE = "application/dns-message";
export const DNS_JSON = "application/dns-json";
export const JSON_TYPE = "application/json";
const HTML = "text/html";

/** The type of a Content-Type field without its parameters, in lower case. */
export function essence(contentType: string): string {
  const semicolon = contentType.indexOf(";");
  return (semicolon === -1 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
}

/**
 * The quality of a media type in an Accept field (RFC 9110 section 12.5.1), from the most
 * specific range that matches; 0 if it is excluded. An absent or empty field accepts everything.
 */
export function acceptQuality(accept: string | null, mediaType: string): number {
  if (accept === null || accept === "" || accept === "*/*" || accept === mediaType) return 1;
  const group = mediaType.slice(0, mediaType.indexOf("/") + 1) + "*";
  let quality = 0;
  let specificity = -1;
  for (const range of accept.split(",")) {
    const type = essence(range);
    const matched = type === mediaType ? 2 : type === group ? 1 : type === "*/*" ? 0 : -1;
    if (matched <= specificity) continue;
    specificity = matched;
    const weight = /;\s*q\s*=\s*([0-9.]+)/i.exec(range)?.[1];
    quality = weight === undefined ? 1 : Math.min(1, Number(weight) || 0);
  }
  return quality;
}

/** Whether an Accept field names a media type itself, not only by a wildcard. */
export function namesMediaType(accept: string | null, mediaType: string): boolean {
  return accept?.split(",").some((range) => essence(range) === mediaType) ?? false;
}

/** Whether an Accept field is that of a browser that shows a page: it names HTML, and prefers it to JSON. */
export function prefersHtml(accept: string | null): boolean {
  return namesMediaType(accept, HTML) && acceptQuality(accept, HTML) > acceptQuality(accept, JSON_TYPE);
}

/** Which web origins may read answers: every one, or those listed (`https://app.example.org`). */
export type AllowedOrigins = "*" | readonly string[];

/** The setting that lets no foreign origin read anything. */
export const NO_ORIGIN: AllowedOrigins = [];

/**
 * The origins that may read the answers to clients of an access rule. `*` counts for the rule `public` only:
 * a browser sends its user's address, certificate and passwords also with requests of an attacker's page.
 */
export function originsOf(configured: AllowedOrigins, isPublic: boolean): AllowedOrigins {
  return configured === "*" && !isPublic ? NO_ORIGIN : configured;
}

/** The CORS fields of a response that scripts of every origin may read. */
export const ANY_ORIGIN = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "age, etag",
};

/**
 * The CORS fields of a response (Fetch standard, section 3.3). A browser may read Age, by which a DoH
 * client lowers the TTLs of an answer from a cache (RFC 8484 section 5.1).
 */
export function crossOriginHeaders(request: HttpRequest, allowed: AllowedOrigins): Record<string, string> {
  if (allowed === "*") return ANY_ORIGIN;
  if (allowed.length === 0) return {};
  const origin = request.header("origin");
  if (origin === null || !allowed.includes(origin)) return { vary: "origin" };
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "age, etag",
    vary: "origin",
  };
}

/**
 * Answers OPTIONS, preflights included; `allow` is the Allow field of the resource. There is no
 * Access-Control-Allow-Private-Network: a browser that requires it keeps pages of the internet away from a
 * gateway in a private network.
 */
export function preflight(request: HttpRequest, allow: string, allowed: AllowedOrigins): HttpResponse {
  const headers: Record<string, string> = { ...crossOriginHeaders(request, allowed), allow };
  if ("access-control-allow-origin" in headers) {
    headers["access-control-allow-methods"] = allow;
    headers["access-control-allow-headers"] = "accept, authorization, content-type";
    headers["access-control-max-age"] = "86400";
  }
  return { status: 204, headers, body: null };
}

/**
 * Distinguishes hosts by which a gateway is known from others.
 * @param host with its port, as `HttpRequest.host`
 */
export type KnowsHost = (host: string) => boolean;

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * Knows `localhost` and IP addresses: a page of a stranger, whose name was pointed at this gateway's address
 * (DNS rebinding), has another name. A request without a host is known, too: its client is no browser.
 */
export function isLocalHost(host: string): boolean {
  if (host.startsWith("[")) return true;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return name === "" || name === "localhost" || IPV4.test(name);
}

const PERCENT = 0x25;
const EQUALS = 0x3d;

/**
 * The value of one query parameter of a URL, still percent-encoded; the first if there are two. It reads the
 * text of the URL, because `new URL()` takes longer than the answer to a query. The name may be
 * percent-encoded in the URL: `d%6Es` names the same parameter as `dns` (RFC 3986 section 6.2.2.2).
 */
export function rawParameter(url: string, name: string): string | undefined {
  const question = url.indexOf("?");
  if (question === -1) return undefined;
  const hash = url.indexOf("#", question);
  const end = hash === -1 ? url.length : hash;
  let start = question + 1;
  while (start <= end) {
    let next = url.indexOf("&", start);
    if (next === -1 || next > end) next = end;
    const after = endOfName(url, start, name);
    if (after !== -1) {
      if (url.charCodeAt(after) === EQUALS && after < next) return url.slice(after + 1, next);
      if (after === next) return "";
    }
    start = next + 1;
  }
  return undefined;
}

/**
 * The index after `name`, which may be percent-encoded, at `start`; -1 if the text there is different. `name`
 * has ASCII letters only.
 */
function endOfName(url: string, start: number, name: string): number {
  let at = start;
  for (let index = 0; index < name.length; index++) {
    let code = url.charCodeAt(at++);
    if (code === PERCENT) {
      code = Number.parseInt(url.slice(at, at + 2), 16);
      at += 2;
    }
    if (code !== name.charCodeAt(index)) return -1;
  }
  return at;
}

/**
 * The decoded value of one query parameter (`+` is a space, as HTML forms write it).
 * @throws {URIError} if the percent-encoding is malformed
 */
export function parameter(url: string, name: string): string | undefined {
  const raw = rawParameter(url, name);
  return raw === undefined ? undefined : decodeURIComponent(raw.replaceAll("+", " "));
}

const INVALID = 255;

/** By the byte of a character in UTF-8. */
const VALUES = new Uint8Array(256).fill(INVALID);
for (const [value, character] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
].entries())
  VALUES[character.charCodeAt(0)] = value;

const encoder = new TextEncoder();
/**
 * The bytes of the text: reading them takes 130 ns for 91 characters, characters of a part of a URL 300 ns.
 */
let bytes = new Uint8Array(1024);

/** Bytes in base64url without padding (RFC 4648 section 5). */
export function encodeBase64url(bytes: Uint8Array): string {
  const base64 = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The number of base64url characters for `bytes` bytes, without padding. */
export function base64urlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

/**
 * Decodes base64url (RFC 4648 section 5) into `target` from its start. RFC 8484 section 4.1.1 allows
 * no padding; correct padding is accepted, too, because many encoders add it.
 * @returns the number of bytes, or -1 if `text` is not base64url. `target` must be large enough.
 */
export function decodeBase64url(text: string, target: Uint8Array): number {
  let end = text.length;
  if (end > 0 && text.charCodeAt(end - 1) === 0x3d) {
    if (end % 4 !== 0) return -1;
    end -= text.charCodeAt(end - 2) === 0x3d ? 2 : 1;
  }
  if (end % 4 === 1) return -1;
  // The first character outside ASCII has place, and its bytes, up to four, are no values.
  if (end + 3 > bytes.length) bytes = new Uint8Array(end + 3);
  encoder.encodeInto(text, bytes);
  let size = 0;
  let index = 0;
  // One check of all characters at the end keeps this cheap.
  let invalid = 0;
  const whole = end - (end % 4);
  while (index < whole) {
    const first = VALUES[bytes[index]!]!;
    const second = VALUES[bytes[index + 1]!]!;
    const third = VALUES[bytes[index + 2]!]!;
    const fourth = VALUES[bytes[index + 3]!]!;
    index += 4;
    invalid |= first | second | third | fourth;
    target[size] = (first << 2) | (second >> 4);
    target[size + 1] = (second << 4) | (third >> 2);
    target[size + 2] = (third << 6) | fourth;
    size += 3;
  }
  if (index < end) {
    const first = VALUES[bytes[index]!]!;
    const second = VALUES[bytes[index + 1]!]!;
    const third = index + 2 < end ? VALUES[bytes[index + 2]!]! : 0;
    invalid |= first | second | third;
    target[size++] = (first << 2) | (second >> 4);
    if (index + 2 < end) target[size++] = (second << 4) | (third >> 2);
  }
  return invalid > 63 ? -1 : size;
}
