/** What the gateway tells logs and metrics. */
export type GatewayEvent =
  | {
      readonly event: "pushed";
      readonly clusterId: string;
      readonly generation: number;
      readonly kind: "snapshot" | "patch";
    }
  | { readonly event: "left"; readonly clusterId: string }
  | { readonly event: "lease-ran-out"; readonly clusterId: string; readonly expiredAt: number }
  | {
      readonly event: "compiled";
      /** The scope that the image is for, as `visibilityKey` has it, without its view; absent for everything. */
      readonly scope?: string;
      /** Whether the image differs from the one before. */
      readonly changed: boolean;
      readonly contentHash: string;
      readonly imageBytes: number;
      readonly services: number;
      readonly milliseconds: number;
    }
  | { readonly event: "compile-failed"; readonly scope?: string; readonly error: unknown }
  /** Nothing can be stored: changes are refused, what is in memory is answered. */
  | { readonly event: "store-failed"; readonly clusterId: string; readonly error: unknown }
  | { readonly event: "store-works-again" }
  /** A cluster that has gone stays in the store until that can be written, at the latest until the next start. */
  | { readonly event: "removal-failed"; readonly clusterId: string; readonly error: unknown };

/** Takes the gateway's events; must not throw. */
export type OnGatewayEvent = (event: GatewayEvent) => void;
