import { ServeConfig } from "../../src/config/settings.ts";

/** What holds where nothing else is configured. */
export const { limits: DEFAULT_LIMITS, lease: DEFAULT_LEASE } = ServeConfig.parse({});
