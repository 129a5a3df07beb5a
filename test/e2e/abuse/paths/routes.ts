import { vi } from "vitest";
import { readServeConfig } from "../../../../src/hosts/node/config.ts";
import { createLogger } from "../../../../src/hosts/node/process.ts";
import type { GatewayProcess } from "../../harness/processes.ts";

/** A route of the application, as Hono lists it. */
export interface Route {
  /** `ALL` for every one. */
  readonly method: string;
  /** With parameters as `:name`, and wild cards. */
  readonly path: string;
}

/** Every method that a client might try. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/**
 * All routes of a gateway, read off the application that the host makes of its configuration, so that
 * whatever is added is in the list.
 * @param gateway whose config file is taken; it may run meanwhile
 * @param stateDirectory another one than the gateway's, which is locked
 */
export async function routesOf(gateway: GatewayProcess, stateDirectory: string): Promise<Route[]> {
  let routes: Route[] | undefined;
  vi.doMock("../../../../src/http/app.ts", async (original) => {
    const actual = await original<typeof import("../../../../src/http/app.ts")>();
    return {
      ...actual,
      createApp: (parts: Parameters<typeof actual.createApp>[0]) => {
        const app = actual.createApp(parts);
        routes = app.routes.map(({ method, path }) => ({ method, path }));
        return app;
      },
    };
  });
  try {
    const { startGateway } = await import("../../../../src/hosts/node/gateway-host.ts");
    const { args } = gateway.process.spec;
    const config = args[args.indexOf("--config") + 1]!;
    const clusterToken = args.filter((_, index) => args[index - 1] === "--cluster-token");
    const flags = { config, clusterToken, listen: "127.0.0.1:0", stateDir: stateDirectory };
    const read = readServeConfig(flags);
    // What it listens on beside is taken by the gateway that runs.
    const alone = { ...read, dns: { ...read.dns, listen: [] }, dot: { ...read.dot, listen: [] } };
    const running = await startGateway(alone, createLogger("routes", "error"));
    await running.stop();
  } finally {
    vi.doUnmock("../../../../src/http/app.ts");
  }
  if (routes === undefined) throw new Error("the host made no application");
  return routes;
}

/** Every distinct path with its parameters filled in, wild cards by the same text. */
export function pathsWith(routes: readonly Route[], parameter: string): string[] {
  const filled = routes.map(({ path }) => path.replace(/:\w+(?:\{[^}]*\})?|\*/g, () => parameter));
  return [...new Set(filled)];
}
