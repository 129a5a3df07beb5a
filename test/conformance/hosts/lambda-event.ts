import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { APIGatewayProxyResult, LambdaEvent } from "hono/aws-lambda";

/** An event of API Gateway's HTTP APIs or of function URLs, payload format 2.0. */
export type EventV2 = Extract<LambdaEvent, { readonly rawPath: string }>;

/** Bodies of these types come as they are, all others in base64. */
const TEXT = /^(?:text\/|application\/(?:json|javascript|xml)\b)/i;

/** One of the recorded events in `lambda-events/`. */
export function recordedEvent<Event = EventV2>(name: string): Event {
  const path = join(import.meta.dirname, "..", "lambda-events", `${name}.json`);
  return JSON.parse(readFileSync(path, "utf8")) as Event;
}

/** The event that AWS makes of a request; whatever the request does not say is as in a recorded event. */
export async function eventOf(request: Request, recorded: EventV2, sourceIp: string): Promise<EventV2> {
  const { pathname, search, searchParams } = new URL(request.url);
  const body = Buffer.from(await request.arrayBuffer());
  const type = request.headers.get("content-type") ?? "";
  const isText = TEXT.test(type) && Buffer.from(body.toString()).equals(body);
  const { accept: _, "content-type": __, "user-agent": agent, ...ofHost } = recorded.headers;
  const { queryStringParameters: ___, body: ____, ...rest } = recorded;
  return {
    ...rest,
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: {
      ...ofHost,
      ...Object.fromEntries(request.headers),
      "content-length": String(body.length),
      "x-forwarded-for": [request.headers.get("x-forwarded-for"), sourceIp].filter(Boolean).join(", "),
      ...(agent !== undefined && { "user-agent": agent }),
    },
    ...(search !== "" && { queryStringParameters: Object.fromEntries(searchParams) }),
    requestContext: {
      ...recorded.requestContext,
      http: { ...recorded.requestContext.http, method: request.method, path: pathname, sourceIp },
    },
    ...(body.length > 0 && { body: isText ? body.toString() : body.toString("base64") }),
    isBase64Encoded: body.length > 0 && !isText,
  } as EventV2;
}

/** The response that AWS makes of what a function gives back. */
export function responseOf(result: APIGatewayProxyResult): Response {
  const { statusCode, body, isBase64Encoded, headers = {} } = result;
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
  return new Response(bytes.length === 0 ? null : bytes, { status: statusCode, headers: fields });
}
