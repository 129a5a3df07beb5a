import { type APIGatewayProxyResult, handle, type LambdaContext, type LambdaEvent } from "hono/aws-lambda";
import { Hono } from "hono/tiny";
import type { App } from "../../http/app.ts";
import { DEFAULT_REFRESH_POLICY } from "../../transfer/refresh-schedule.ts";

/** The members of Lambda's events beside the request; each kind of event has others. */
interface LambdaRequestContext {
  /** API Gateway HTTP APIs and function URLs. */
  readonly http?: { readonly sourceIp?: string };
  /** API Gateway REST APIs. */
  readonly identity?: { readonly sourceIp?: string };
  /** Application load balancers. */
  readonly elb?: object;
}

/**
 * The client's address as AWS saw it, for `sourceCluster.trusted`. Header fields do not count, because
 * clients can write them, except for the last entry of X-Forwarded-For behind a load balancer: it appends
 * that entry itself, and reports the address nowhere else.
 */
function clientAddressOf(
  { http, identity, elb }: LambdaRequestContext,
  headers: Headers,
): string | undefined {
  if (elb === undefined) return http?.sourceIp ?? identity?.sourceIp;
  return headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
}

/** Answers events of API Gateway (HTTP and REST APIs), function URLs and application load balancers. */
type LambdaHandler = (event: LambdaEvent, context?: LambdaContext) => Promise<APIGatewayProxyResult>;

interface LambdaEnvironment {
  Bindings: { readonly requestContext: LambdaRequestContext };
}

/** The Lambda function of a secondary. */
export function createLambdaHandler(secondary: Pick<App, "fetch">): LambdaHandler {
  const app = new Hono<LambdaEnvironment>();
  app.all("*", async ({ req, env }) => {
    const clientAddress = clientAddressOf(env.requestContext, req.raw.headers);
    const left: Promise<void>[] = [];
    const response = await secondary.fetch(
      req.raw,
      { address: clientAddress, certificate: "none" },
      (work) => void left.push(work),
    );
    // Lambda halts the process with the response: there is no background work.
    await Promise.race([Promise.all(left), pause(DEFAULT_REFRESH_POLICY.wait)]);
    return response;
  });
  const answer = handle(app) as LambdaHandler;
  return (event, context) => answer(withoutStage(event), context);
}

/** An HTTP API with a stage other than `$default` puts its name before each path. */
function withoutStage(event: LambdaEvent): LambdaEvent {
  if (!("rawPath" in event)) return event;
  const prefix = `/${event.requestContext.stage}/`;
  return event.rawPath.startsWith(prefix)
    ? { ...event, rawPath: event.rawPath.slice(prefix.length - 1) }
    : event;
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
