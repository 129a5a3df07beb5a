import type { ApiClient } from "./api-client.ts";
import type { KubeObject } from "./objects.ts";

/** One rule of a ClusterRole. */
export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

/** A service account with a token, and the objects that give it its rights. */
export interface ServiceAccount {
  token: string;
  role: KubeObject;
  binding: KubeObject;
}

/**
 * Creates a service account that may do what `rules` say in every namespace, and asks the TokenRequest
 * subresource for a token. `admin.remove(account.binding)` takes the rights away again.
 */
export async function createServiceAccount(
  admin: ApiClient,
  namespace: string,
  name: string,
  rules: PolicyRule[],
): Promise<ServiceAccount> {
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

/**
 * A new token for a service account, for the API server unless audiences are given; Kubernetes accepts no
 * lifetime under 600 seconds.
 */
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
