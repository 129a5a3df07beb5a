import type { ApiClient } from "./api-client.ts";
import type { KubeObject } from "./objects.ts";

export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** A service account that may do what `rules` say; `admin.remove(account.binding)` takes the rights away. */
export async function createServiceAccount(
  admin: ApiClient,
  namespace: string,
  name: string,
  rules: PolicyRule[],
) {
  const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } };
  const rbac = "rbac.authorization.k8s.io";
  const apiVersion = `${rbac}/v1`;
  const metadata = { name: `${namespace}-${name}` };
  const role: KubeObject = { apiVersion, kind: "ClusterRole", metadata, rules };
  const binding: KubeObject = {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: metadata.name },
    subjects: [{ kind: "ServiceAccount", namespace, name }],
  };
  await admin.apply(account, role, binding);
  return { token: await requestToken(admin, namespace, name), role, binding };
}

/** A token of a service account, for the API server by default; Kubernetes wants 600 seconds at least. */
export async function requestToken(
  admin: ApiClient,
  namespace: string,
  name: string,
  expirationSeconds = 3600,
  audiences?: readonly string[],
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const answer = await admin.api<{ status: { token: string } }>("POST", path, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds, ...(audiences !== undefined && { audiences }) },
  });
  return answer.status.token;
}
