import type { ServerLimits } from "../../src/config/limits.ts";
import { ServeConfig } from "../../src/config/settings.ts";

/** The limits of a server without a config file. */
export const DEFAULT_SERVER_LIMITS: ServerLimits = ServeConfig.parse({}).limits;
