import type { Environment } from "./environment.ts";

export { ClustersetObject } from "./clusterset-object.ts";

export default {
  async fetch(request, environment) {
    return environment.CLUSTERSET.getByName("clusterset").fetch(request);
  },
} satisfies ExportedHandler<Environment>;
