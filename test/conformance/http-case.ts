import { expect } from "vitest";
import { ErrorResponse } from "../../src/http/openapi/schemas.ts";
import { decode } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";

/** An application of this process, or a host behind its sockets. Only path and query of a URL count. */
export type Fetch = (request: Request) => Response | Promise<Response>;

/** What a request may carry; a function makes a stream, whose length is not declared. */
export type CaseBody = string | Uint8Array<ArrayBuffer> | (() => ReadableStream<Uint8Array>);

/** What is sent. Default: GET. */
export interface CaseRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: CaseBody;
}

/** What must come back. */
export interface CaseResponse {
  /** Default: any. */
  readonly status?: number;
  /** Header fields: the whole field, a pattern of it, or null where it must be absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** A part of the body. */
  readonly text?: string;
  /** The whole body. */
  readonly json?: unknown;
  /** Members of the body. */
  readonly jsonWith?: object;
  /** The body as a DNS message. */
  readonly dns?: {
    readonly id?: number;
    readonly rcode?: string;
    /** The answer section, each record as `<name> <ttl> <type> <data>`. */
    readonly answer?: readonly string[];
    /** The code of the Extended DNS Error (RFC 8914). */
    readonly extendedError?: number;
  };
  /** The error of the push API, in its documented form, which no cache keeps. */
  readonly refusal?: { readonly code: string; readonly currentGeneration?: number | null };
}

/** One row of a table: what is sent, and what every host answers. */
export interface HttpCase extends CaseRequest {
  /** The text that says so. */
  readonly section: string;
  readonly title: string;
  readonly expected: CaseResponse;
}

/** One row, by default a GET request. */
export const httpCase = (
  section: string,
  title: string,
  path: string,
  expected: CaseResponse,
  more: Omit<CaseRequest, "path"> = {},
): HttpCase => ({ section, title, ...more, path, expected });

/** Rows with what they are called, for `it.each`. */
export function titled<Row extends { readonly section: string; readonly title: string }>(
  rows: readonly Row[],
): (readonly [string, Row])[] {
  return rows.map((row) => [`${row.section}: ${row.title}`, row]);
}

/** Makes a request. A body of known length is declared, as every client does. */
export function makeRequest({ method = "GET", path, headers, body }: CaseRequest): Request {
  const sent = typeof body === "function" ? body() : typeof body === "string" ? encoded(body) : body;
  return new Request(`https://gateway.example${path}`, {
    method,
    headers: {
      ...(sent instanceof Uint8Array && { "content-length": String(sent.length) }),
      ...headers,
    },
    ...(sent !== undefined && { body: sent, duplex: "half" }),
  } as RequestInit);
}

/** Sends one row of a table and looks at the whole response. */
export async function checkCase(fetch: Fetch, entry: HttpCase): Promise<void> {
  await expectResponse(await fetch(makeRequest(entry)), entry.expected);
}

/** Holds a response against what is expected of it; reads its body. */
export async function expectResponse(response: Response, expected: CaseResponse): Promise<void> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const seen = { status: response.status, body: bytes.toString() };
  if (expected.status !== undefined) expect(seen.status, seen.body).toBe(expected.status);
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    if (value instanceof RegExp) expect(response.headers.get(name), name).toMatch(value);
    else expect(response.headers.get(name), name).toBe(value);
  if (expected.text !== undefined) expect(seen.body).toContain(expected.text);
  if (expected.json !== undefined) expect(JSON.parse(seen.body)).toEqual(expected.json);
  if (expected.jsonWith !== undefined) expect(JSON.parse(seen.body)).toMatchObject(expected.jsonWith);
  if (expected.dns !== undefined) expectMessage(bytes, expected.dns);
  if (expected.refusal !== undefined) {
    const { code, details } = ErrorResponse.parse(JSON.parse(seen.body));
    expect({ code, currentGeneration: details?.currentGeneration }).toMatchObject(expected.refusal);
    expect(response.headers.get("cache-control")).toBe("no-store");
  }
}

function expectMessage(bytes: Buffer, expected: NonNullable<CaseResponse["dns"]>): void {
  const { rcode, answer } = decode(bytes);
  const seen = {
    id: bytes.readUInt16BE(0),
    rcode,
    answer: answer.toSorted(),
    extendedError: extendedErrors(bytes)[0],
  };
  expect(seen).toMatchObject({
    ...expected,
    ...(expected.answer !== undefined && { answer: expected.answer.toSorted() }),
  });
}

function encoded(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
