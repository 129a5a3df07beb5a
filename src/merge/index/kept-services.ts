import type { ClustersetService } from "../clusterset.ts";
import { sizeOfService } from "../service/size.ts";

/** Merged services by `<namespace>/<name>`, the newest up to a number of ports, endpoints and addresses. */
export class KeptServices {
  /** The newest last. */
  readonly #services = new Map<string, ClustersetService>();
  readonly #most: number;
  #size = 0;

  /** @param most ports, endpoints and addresses of all services */
  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): ClustersetService | undefined {
    return this.#services.get(key);
  }

  /** Replaces a service; undefined drops it. */
  keep(key: string, service: ClustersetService | undefined): void {
    this.drop(key);
    if (service === undefined) return;
    this.#services.set(key, service);
    this.#size += sizeOfService(service);
    this.shrinkTo(this.#most);
  }

  drop(key: string): void {
    const kept = this.#services.get(key);
    if (kept === undefined) return;
    this.#size -= sizeOfService(kept);
    this.#services.delete(key);
  }

  /** Drops the oldest services until at most this many ports, endpoints and addresses are left. */
  shrinkTo(most: number): void {
    for (const oldest of this.#services.keys()) {
      if (this.#size <= most) break;
      this.drop(oldest);
    }
  }
}
