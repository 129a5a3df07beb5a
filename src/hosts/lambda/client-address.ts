/** What Lambda says of a request, beside the request; of each kind of event another part. */
export interface LambdaRequestContext {
  /** API Gateway HTTP APIs and function URLs. */
  readonly http?: { readonly sourceIp?: string };
  /** API Gateway REST APIs. */
  readonly identity?: { readonly sourceIp?: string };
  /** Application load balancers. */
  readonly elb?: object;
}

/**
 * The client's address as AWS saw it, for `sourceCluster.trusted`. Header fields do not count, because a client can write
 * them; but a load balancer has no other place for it than the last entry of X-Forwarded-For, which it appends itself.
 */
export function clientAddressOf(
  { http, identity, elb }: LambdaRequestContext,
  headers: Headers,
): string | undefined {
  if (elb === undefined) return http?.sourceIp ?? identity?.sourceIp;
  return headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
}
