import type { AccessControl } from "../access/admission.ts";
import type { Authority, PushAuthority } from "../access/authority.ts";
import type { AccessRule } from "../access/rule.ts";
import type { AccessCounters, QueryCounters } from "../answer/answer-query.ts";
import type { EdgeConfig, ServeConfig } from "../config/settings.ts";
import type { Database } from "../database/driver.ts";
import type { ServiceExplainer } from "../explain/service.ts";
import type { ForwarderDependencies } from "../forward/forwarder.ts";
import type { Upstream } from "../forward/upstream.ts";
import type { OrderParts, SharedOrder } from "../gateway/change-order.ts";
import type { Clock } from "../gateway/clock.ts";
import type { Control } from "../gateway/desired.ts";
import type { Gateway, GatewayParts } from "../gateway/gateway.ts";
import type { QueryStages } from "../gateway/gateway-types.ts";
import type { NameSettings } from "../gateway/keyed-scope.ts";
import type { AppParts } from "../http/app.ts";
import type { AuditLog } from "../http/audit.ts";
import type { RuleParts } from "../http/doh/rule-answers.ts";
import type { MetricsSource } from "../http/metrics/metric.ts";
import type { StatusSource } from "../http/metrics/status.ts";
import type { MetricSources } from "../http/metrics/table.ts";
import type { GatewayAddresses } from "../http/pages/directory.ts";
import type { ControlCounts, ControlLimits, createDesiredRoute } from "../http/push/desired.ts";
import type { Load } from "../limits/counters.ts";
import type { SharedLimits } from "../limits/shared.ts";
import type { Grants, Pins } from "../merge/grants.ts";
import type { Visibility } from "../merge/visibility.ts";
import type { Designation } from "../resolve/designated-resolvers.ts";
import type { TransferKeys } from "../transfer/signature.ts";
import type { TransferCounters, TransferSource } from "../transfer/transfer-state.ts";
import type { Log } from "./log.ts";
import type { PushForwardParts } from "./push-forward.ts";

/** The settings of a gateway on any host. */
export type GatewayConfig = ServeConfig | EdgeConfig;

/** How queries are answered, with the settings applied. */
export interface Stages extends QueryStages {
  readonly names: NameSettings;
}

/** The parts in which hosts differ. */
export interface Platform
  extends Pick<AppParts, "stubs" | "stubRoutes" | "openApi">,
    Pick<ForwarderDependencies, "coalesce" | "background"> {
  /** The limits of all threads of the process. Default: each part has its own. */
  readonly shared?: Pick<SharedLimits, "buckets" | "count">;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: AccessControl;
  /** Tokens of clusters that push, which decide the view of a public query. Default: they are ignored. */
  readonly clusterTokens?: PushAuthority | undefined;
  /** The clusters that may push: a status names those that never did. Default: none is named. */
  readonly clusterIds?: readonly string[] | undefined;
  /** Connections to `forward.upstreams`, in their order. */
  readonly upstreams: readonly Upstream[];
  /** The source of generations: compiled here from pushes, or transferred from a primary. */
  readonly generations: PrimaryParts | SecondaryParts | AnswersElsewhere;
  /** Default: counters of its own. */
  readonly counters?: QueryCounters | undefined;
  readonly accessCounters?: AccessCounters;
  /** Makes the metrics of the process. Default: none, except for those of secondaries. */
  readonly metrics?: (sources: MetricSources) => MetricsSource;
  /** Default: one that writes into `log`. */
  readonly audit?: AuditLog | undefined;
  /** The load of the process. Default: it is never high. */
  readonly load?: Load;
  /**
   * Whether the gateway listens on loopback and no setting says that answers are public: then its network
   * admits clients. Default: no.
   */
  readonly isOpenToItsNetwork?: boolean;
  /** Whether it speaks HTTP in clear, so that any name that points at it reaches it. Default: no. */
  readonly isInClear?: boolean;
  /** The addresses of the gateway for clients of a rule, on its pages. Default: that over HTTPS only. */
  readonly gatewayAddresses?: (rule: AccessRule) => GatewayAddresses;
  /** Default: there is no designated resolver. */
  readonly designation?: Designation | undefined;
}

/** What a control plane is served with. */
export interface ControlParts {
  readonly control: Control;
  readonly limits: ControlLimits;
  readonly counts: ControlCounts;
  readonly createRoute: typeof createDesiredRoute;
}

/** A primary: takes pushes into its database. */
export interface PrimaryParts
  extends Pick<GatewayParts, "watchLeases" | "onChange" | "onLeaseHeld" | "hold"> {
  /**
   * Opens the order of changes that several gateways share. Default: this gateway alone changes the database.
   */
  readonly openOrder?: ((parts: OrderParts) => Promise<SharedOrder>) | undefined;
  /** Called with the gateway before it takes anything. */
  readonly onOpened?: (gateway: Gateway) => void;
  /** Closed with the gateway. What it has committed is durable. */
  readonly database: Database & { close(): void };
  /** Rejects pushes without a credential of the cluster. */
  readonly authority: PushAuthority;
  /** The grants of clusters. Default: each speaks for all. */
  readonly grants?: Grants;
  /** What each cluster may export. Default: anything. */
  readonly exportLimits?: Pins["exports"];
  /** The control plane, for hosts that serve it. */
  readonly control?: ControlParts | undefined;
  /**
   * Explains services, for hosts that answer clients themselves. Default: answers are explained as on
   * secondaries.
   */
  readonly explainer?: ServiceExplainer;
  /**
   * Checks the tokens of secondaries; `public` if only the host's own code reaches these routes. Default: no
   * routes.
   */
  readonly transfer?: Authority | "public" | undefined;
  /** Returns the key that signs states and roots; called for each. Default: they are not signed. */
  readonly transferKey?: (() => TransferKeys) | undefined;
}

/** Answers from what another thread takes. */
interface AnswersElsewhere extends Pick<PrimaryParts, "grants" | "exportLimits"> {
  open(stages: Stages): Answers;
}

/** A secondary: answers from what a primary compiles, and forwards pushes to it. */
export interface SecondaryParts {
  /** Where the parts of what is visible come from. */
  readonly sourceOf: (visibility: Visibility) => TransferSource;
  /** What `sourceOf` counts, for `/metrics`. */
  readonly counters: TransferCounters;
  /** Bytes of parts in memory: those that queries used last. */
  readonly partBytes: number;
  readonly pushes: Omit<PushForwardParts, "log" | "onChange" | "audit" | "clientAddress">;
}

/** What a primary and a secondary have in common. */
export interface AnswersContext
  extends Pick<Platform, "clusterIds" | "counters" | "clock" | "log" | "audit"> {
  readonly access: Pick<AccessControl, "rules" | "clientAddress">;
  readonly config: Pick<GatewayConfig, "access" | "lease" | "limits">;
  readonly stages: Stages;
}

/** A primary or a secondary. */
export interface Answers extends Pick<AppParts, "transferRoutes">, Required<Pick<AppParts, "pushRoutes">> {
  /** Whose readiness is public. */
  readonly gateway: StatusSource;
  /** Of what can wait. Default: none. */
  readonly load?: Load;
  /** What the clients of a rule get; `listed` is for pages and explanations. */
  of(rule: AccessRule): Omit<RuleParts, "pages"> & Required<Pick<RuleParts, "listed">>;
  close(): Promise<void>;
}
