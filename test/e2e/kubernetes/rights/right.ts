import { isDeepStrictEqual } from "node:util";
import { accessManifests, infraManifests } from "../../harness/infra.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import type { PolicyRule } from "../../servers/kubernetes/service-account.ts";

/** One verb on one resource, the least that a rule of RBAC can give. */
export interface Right {
  /** "" for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
}

interface PodTemplateOwner {
  template: { spec: { containers: { args: string[] }[] } };
}

/** How the log and the API server name a resource: `services`, `endpointslices.discovery.k8s.io`. */
export function resourceName({ group, resource }: Omit<Right, "verb">): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Every single right that a folder of `infra/kubernetes` gives the worker. */
export function rightsOf(folder: string): Right[] {
  return accessManifests(folder).flatMap(({ rules }) =>
    ((rules ?? []) as PolicyRule[]).flatMap(singleRights),
  );
}

/** The rights that a component adds to those of its base. */
export function rightsAdded(component: string, base: string): Right[] {
  const known = rightsOf(base);
  return rightsOf(component).filter((right) => !known.some((one) => isDeepStrictEqual(one, right)));
}

/**
 * The account of a folder with all its rights but one, under names of its own (`variant`), so that many accounts with other
 * rights exist side by side.
 */
export function accountWithout(folder: string, right: Right | undefined, variant: string): KubeObject[] {
  return accessManifests(folder).map((object) => {
    if (object.kind === "Namespace") return object;
    const { rules, roleRef, subjects } = object as {
      rules?: PolicyRule[];
      roleRef?: { name: string };
      subjects?: { name: string }[];
    };
    return {
      ...object,
      metadata: { ...object.metadata, name: `${object.metadata.name}-${variant}` },
      ...(rules && {
        rules: rules
          .flatMap(singleRights)
          .filter((one) => !isDeepStrictEqual(one, right))
          .map(asRule),
      }),
      ...(roleRef && { roleRef: { ...roleRef, name: `${roleRef.name}-${variant}` } }),
      ...(subjects && { subjects: subjects.map((one) => ({ ...one, name: `${one.name}-${variant}` })) }),
    };
  });
}

/** The worker's arguments in a folder's Deployment, without the gateway's URL, files, and the cluster id, which comes from a ClusterProperty here. */
export function modeOf(folder: string): string[] {
  const deployment = infraManifests(folder).find(({ kind }) => kind === "Deployment");
  if (deployment === undefined) throw new Error(`${folder} has no Deployment`);
  const { containers } = (deployment.spec as PodTemplateOwner).template.spec;
  const [command, ...flags] = containers[0]!.args;
  if (command !== "sync") throw new Error(`${folder} runs ${command}, which is no sync worker`);
  return flags.filter((flag) => !/^--(gateway|cluster-id|token-file|ca-file|listen)=/.test(flag));
}

function singleRights({ apiGroups, resources, verbs, resourceNames }: PolicyRule): Right[] {
  if (resourceNames !== undefined) throw new Error("this test does not know what resourceNames give");
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
  );
}

function asRule({ group, resource, verb }: Right): PolicyRule {
  return { apiGroups: [group], resources: [resource], verbs: [verb] };
}
