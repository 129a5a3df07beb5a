/** Stands for the object where that one lives in another process: hands everything on. */
import { DurableObject } from "cloudflare:workers";

export class ClustersetObject extends DurableObject<{ readonly PRIMARY: Fetcher }> {
  override fetch(request: Request): Promise<Response> {
    return this.env.PRIMARY.fetch(request);
  }
}

export default {};
