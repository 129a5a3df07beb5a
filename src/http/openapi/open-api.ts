/** Returns the OpenAPI document as JSON. */
export type OpenApi = () => Promise<string>;

/**
 * The OpenAPI document, made when it is first requested. Cloudflare serves it as a file (`infra/workers/assets`), so that the Worker
 * does not have to hold it.
 */
export function createOpenApi(version: string): OpenApi {
  let text: Promise<string> | undefined;
  return () => {
    text ??= import("./document.ts").then(({ openApiDocument }) => JSON.stringify(openApiDocument(version)));
    return text;
  };
}
