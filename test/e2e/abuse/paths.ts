import { createPages } from "../../../src/http/pages/routes.ts";
import type { GatewayProcess } from "../harness/processes.ts";

/** Every method that a client might try. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/**
 * All paths of a gateway, as it describes its APIs itself, and those of its pages; each parameter is the same
 * text.
 */
export async function pathsOf(gateway: GatewayProcess, parameter: string): Promise<string[]> {
  const { paths } = (await gateway.http("/api/v1/openapi.json")).json<{ paths: object }>();
  const patterns = [...Object.keys(paths), ...createPages().routes.map(({ path }) => path)];
  const filled = patterns.map((path) => path.replace(/:\w+(?:\{[^}]*\})?|\{\w+\}|\*/g, () => parameter));
  return [...new Set(filled)];
}
