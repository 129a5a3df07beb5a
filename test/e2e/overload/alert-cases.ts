/** An alert of infra/helm/gateway/alerts.yaml: what raises it, what does not, and what it says. */
export interface AlertCase {
  readonly name: string;
  /** Values of series in promtool's notation, by series. */
  readonly firing: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  /** The minute at which it is raised, and the last one at which it is not. Default: the one before. */
  readonly raisedAt: number;
  readonly quietUntil?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
}

const CRITICAL = { severity: "critical" };
const WARNING = { severity: "warning" };
const GATEWAY = 'instance="gateway"';
const lasting = (value: number) => `${value}x60`;
const growing = (by: number) => `0+${by}x60`;

/** Each alert, in the order of the file. */
export const ALERT_CASES: readonly AlertCase[] = [
  {
    name: "ClustersetDohDown",
    firing: { clusterset_doh_worker_ready: lasting(1) },
    quiet: { [`clusterset_doh_ready{${GATEWAY}}`]: lasting(0) },
    raisedAt: 5,
    labels: CRITICAL,
    summary: "no gateway runs, or Prometheus cannot scrape it",
  },
  {
    name: "ClustersetDohNotReady",
    firing: { [`clusterset_doh_ready{${GATEWAY}}`]: lasting(0) },
    quiet: { [`clusterset_doh_ready{${GATEWAY}}`]: lasting(1) },
    raisedAt: 1,
    labels: { ...CRITICAL, instance: "gateway" },
    summary: "gateway answers every query with SERVFAIL",
  },
  {
    name: "ClustersetDohClusterLost",
    firing: { 'clusterset_doh_cluster_live{cluster="west"}': lasting(0) },
    quiet: { 'clusterset_doh_cluster_live{cluster="west"}': lasting(1) },
    raisedAt: 2,
    labels: { ...CRITICAL, cluster: "west" },
    summary: "the lease of west expired; its names left the answers",
  },
  {
    name: "ClustersetDohClusterNeverSeen",
    firing: { [`clusterset_doh_cluster_never_seen{${GATEWAY},cluster="west"}`]: lasting(1) },
    quiet: { [`clusterset_doh_cluster_never_seen{${GATEWAY},cluster="west"}`]: "1x14 stale" },
    raisedAt: 15,
    labels: { ...WARNING, instance: "gateway", cluster: "west" },
    summary: "west may push to gateway, and never did",
  },
  {
    name: "ClustersetDohLeaseNearExpiry",
    firing: { 'clusterset_doh_cluster_lease_remaining_seconds{cluster="west"}': lasting(15) },
    quiet: { 'clusterset_doh_cluster_lease_remaining_seconds{cluster="west"}': lasting(41) },
    raisedAt: 0,
    labels: { ...WARNING, cluster: "west" },
    summary: "the worker of west does not renew: its lease expires in 15s",
  },
  {
    name: "ClustersetDohWorkerDegraded",
    firing: {
      'clusterset_doh_cluster_degraded_seconds{cluster="west",reason="API_UNREACHABLE"}': growing(60),
    },
    quiet: {
      'clusterset_doh_cluster_degraded_seconds{cluster="west",reason="API_UNREACHABLE"}': lasting(60),
    },
    raisedAt: 2,
    labels: { ...WARNING, cluster: "west", reason: "API_UNREACHABLE" },
    summary: "the worker of west cannot read all of its cluster (API_UNREACHABLE) for 2m 0s",
  },
  {
    name: "ClustersetDohTwoWorkers",
    firing: {
      'clusterset_doh_cluster_degraded_seconds{cluster="west",reason="OTHER_INSTANCE"}': growing(60),
    },
    quiet: {
      'clusterset_doh_cluster_degraded_seconds{cluster="west",reason="API_UNREACHABLE"}': growing(60),
    },
    raisedAt: 2,
    labels: { ...WARNING, cluster: "west", reason: "OTHER_INSTANCE" },
    summary: "a second worker pushes with the id of west, and is rejected: what it reads is not answered",
  },
  {
    name: "ClustersetDohPushesRejected",
    firing: { [`clusterset_doh_pushes_total{${GATEWAY},method="PUT",status="401"}`]: growing(2) },
    quiet: { [`clusterset_doh_pushes_total{${GATEWAY},method="PATCH",status="409"}`]: growing(2) },
    raisedAt: 6,
    quietUntil: 4,
    labels: { ...WARNING, instance: "gateway", method: "PUT", status: "401" },
    summary: "gateway rejects PUT of workers with 401",
  },
  {
    name: "ClustersetDohConflict",
    firing: { 'clusterset_doh_conflicts{cluster="west",reason="PortConflict"}': lasting(2) },
    quiet: { 'clusterset_doh_conflicts{cluster="west",reason="PortConflict"}': lasting(0) },
    raisedAt: 10,
    labels: { ...WARNING, cluster: "west", reason: "PortConflict" },
    summary: "PortConflict: 2 values of west are not used",
  },
  {
    name: "ClustersetDohFinding",
    firing: { 'clusterset_doh_findings{cluster="west",reason="ReverseNameTaken"}': lasting(3) },
    quiet: { 'clusterset_doh_findings{cluster="west",reason="other"}': lasting(3) },
    raisedAt: 10,
    labels: { ...WARNING, cluster: "west", reason: "ReverseNameTaken" },
    summary: "ReverseNameTaken: 3 objects of west are not served",
  },
  {
    name: "ClustersetDohServfail",
    firing: {
      [`clusterset_doh_queries_total{${GATEWAY},outcome="servfail"}`]: growing(60),
      [`clusterset_doh_queries_total{${GATEWAY},outcome="answer"}`]: growing(540),
    },
    quiet: {
      [`clusterset_doh_queries_total{${GATEWAY},outcome="servfail"}`]: growing(6),
      [`clusterset_doh_queries_total{${GATEWAY},outcome="answer"}`]: growing(594),
    },
    raisedAt: 6,
    quietUntil: 4,
    labels: { ...CRITICAL, instance: "gateway" },
    summary: "gateway answers 10% of queries with SERVFAIL",
  },
  {
    name: "ClustersetDohStale",
    firing: { [`clusterset_doh_stale_seconds{${GATEWAY}}`]: growing(60) },
    quiet: {
      [`clusterset_doh_stale_seconds{${GATEWAY}}`]: lasting(0),
      [`clusterset_doh_behind_seconds{${GATEWAY}}`]: lasting(5),
    },
    raisedAt: 2,
    labels: { ...WARNING, instance: "gateway" },
    summary: "answers of gateway are stale for 2m 0s",
  },
  {
    name: "ClustersetDohMemoryNearLimit",
    firing: {
      [`process_resident_memory_bytes{${GATEWAY}}`]: lasting(950),
      [`clusterset_doh_memory_limit_bytes{${GATEWAY}}`]: lasting(1000),
    },
    quiet: {
      [`process_resident_memory_bytes{${GATEWAY}}`]: lasting(900),
      [`clusterset_doh_memory_limit_bytes{${GATEWAY}}`]: lasting(1000),
    },
    raisedAt: 5,
    labels: { ...WARNING, instance: "gateway" },
    summary: "gateway takes 95% of the memory that it may take",
  },
  {
    name: "ClustersetDohCertificateNearExpiry",
    firing: { [`clusterset_doh_certificate_remaining_seconds{${GATEWAY}}`]: lasting(86_400) },
    quiet: { [`clusterset_doh_certificate_remaining_seconds{${GATEWAY}}`]: lasting(691_200) },
    raisedAt: 10,
    labels: { ...WARNING, instance: "gateway" },
    summary: "the certificate of gateway expires in 1d 0h 0m 0s",
  },
  {
    name: "ClustersetDohStoreFailing",
    firing: { [`clusterset_doh_store_failing{${GATEWAY}}`]: lasting(1) },
    quiet: { [`clusterset_doh_store_failing{${GATEWAY}}`]: lasting(0) },
    raisedAt: 1,
    labels: { ...CRITICAL, instance: "gateway" },
    summary: "gateway cannot store changes",
  },
  {
    name: "ClustersetDohStoreDamaged",
    firing: { [`clusterset_doh_damaged_rows_total{${GATEWAY}}`]: lasting(1) },
    quiet: { [`clusterset_doh_damaged_rows_total{${GATEWAY}}`]: lasting(0) },
    raisedAt: 0,
    labels: { ...WARNING, instance: "gateway" },
    summary: "gateway found damaged rows 1 times",
  },
];
