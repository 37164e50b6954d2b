import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readConfig } from '#config';
import { SHUTDOWN_TIMEOUT_MS } from '#platform/shutdown.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'ops/kubernetes');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

/** The class of each kind of object. Its constructor copies the object, and `validate` checks the copy with the schema of Kubernetes or KEDA. */
const KINDS = {
  Deployment: { type: Deployment, module: 'kubernetes-models/apps/v1/Deployment' },
  Job: { type: Job, module: 'kubernetes-models/batch/v1/Job' },
  Namespace: { type: Namespace, module: 'kubernetes-models/v1/Namespace' },
  NetworkPolicy: { type: NetworkPolicy, module: 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy' },
  PodDisruptionBudget: { type: PodDisruptionBudget, module: 'kubernetes-models/policy/v1/PodDisruptionBudget' },
  ScaledObject: { type: ScaledObject, module: '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject' },
  Secret: { type: Secret, module: 'kubernetes-models/v1/Secret' },
  Service: { type: Service, module: 'kubernetes-models/v1/Service' },
};
const Kind = z.enum(['Deployment', 'Job', 'Namespace', 'NetworkPolicy', 'PodDisruptionBudget', 'ScaledObject', 'Secret', 'Service']);
const Manifest = z.looseObject({ kind: Kind, metadata: z.looseObject({ name: z.string() }) });
const Kustomization = z.looseObject({
  resources: z.array(z.string()),
  configMapGenerator: z.array(z.object({ name: z.string(), envs: z.array(z.string()) })),
});

const kustomization = Kustomization.parse(parse(read('kustomization.yaml')));
const manifestsOf = (file: string) => parseAllDocuments(read(file)).map((document) => ({ file, manifest: Manifest.parse(document.toJS()) }));
const manifests = [...kustomization.resources, 'secrets.example.yaml'].flatMap(manifestsOf);
const nameOf = ({ file, manifest }: (typeof manifests)[number]) => `${file}: ${manifest.kind} ${manifest.metadata.name}`;

/** The fields of a pod template that these tests read. */
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const Container = z.looseObject({
  command: z.array(z.string()),
  envFrom: z.array(z.union([z.object({ configMapRef: z.object({ name: z.string() }) }), z.object({ secretRef: z.object({ name: z.string() }) })])),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  lifecycle: z.object({ preStop: z.object({ exec: z.object({ command: z.tuple([z.literal('sleep'), z.string()]) }) }) }).optional(),
  resources: z.object({ requests: z.object({ cpu: z.string(), memory: z.string() }), limits: z.object({ memory: z.string() }) }),
  securityContext: z.object({ allowPrivilegeEscalation: z.literal(false), readOnlyRootFilesystem: z.literal(true) }).loose(),
});
const Workload = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.number().min(1) }),
        terminationGracePeriodSeconds: z.number().optional(),
        containers: z.tuple([Container]),
      }),
    }),
  }),
});
const workloads = manifests.flatMap(({ manifest }) =>
  manifest.kind === 'Deployment' || manifest.kind === 'Job' ? [[manifest.metadata.name, Workload.parse(manifest).spec.template] as const] : [],
);
const podOf = (name: string) => workloads.find(([workload]) => workload === name)?.[1];
const secretsOf = (name: string): string[] =>
  (podOf(name)?.spec.containers[0].envFrom ?? []).flatMap((source) => ('secretRef' in source ? [source.secretRef.name] : []));

describe('the Kubernetes manifests', () => {
  test('are valid by the schemas of Kubernetes and KEDA, and every file is listed in kustomization.yaml', () => {
    const wrong = manifests.flatMap((one) => {
      try {
        new KINDS[one.manifest.kind].type(one.manifest as never).validate();
        return [];
      } catch (error) {
        return [`${nameOf(one)}: ${error instanceof Error ? error.message : String(error)}`];
      }
    });
    expect(wrong).toEqual([]);
    const listed = [
      ...kustomization.resources,
      'kustomization.yaml',
      'secrets.example.yaml',
      ...kustomization.configMapGenerator.flatMap(({ envs }) => envs),
    ];
    expect(readdirSync(folder).toSorted()).toEqual(listed.toSorted());
  });

  test('have no field that Kubernetes does not know: each object, as a literal, has the TypeScript type of its kind', async () => {
    mkdirSync(join(root, '.data'), { recursive: true });
    const place = mkdtempSync(join(root, '.data/manifests-'));
    try {
      const lines = manifests.map(({ manifest }, index) => {
        const type = `import('${KINDS[manifest.kind].module}').I${manifest.kind}`;
        return `export const object${index}: ${type} = ${JSON.stringify(manifest, null, 1)};`;
      });
      writeFileSync(join(place, 'manifests.ts'), lines.join('\n'));
      const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext', '--types', ''];
      const checking = promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...options, join(place, 'manifests.ts')]);
      expect(
        await checking.then(
          () => '',
          ({ stdout }: { stdout: string }) => stdout,
        ),
      ).toBe('');
    } finally {
      rmSync(place, { recursive: true });
    }
  }, 60_000);

  test('run each process with the command of docker-compose.yml, and stop it after its shutdown time', () => {
    const commands = Object.fromEntries(workloads.map(([name, { spec }]) => [name, spec.containers[0].command]));
    expect(commands).toEqual({
      'coinop-api': ['node', 'src/server.ts'],
      'coinop-worker': ['node', 'workers/main.ts'],
      'coinop-migrate': ['node', 'src/migrate.ts'],
    });
    for (const name of ['coinop-api', 'coinop-worker']) {
      const spec = podOf(name)?.spec;
      const waitSec = Number(spec?.containers[0].lifecycle?.preStop.exec.command[1] ?? 0);
      expect(spec?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(waitSec + SHUTDOWN_TIMEOUT_MS / 1_000 + 5);
      expect(spec?.containers[0].livenessProbe?.httpGet.path).toBe('/healthz');
      expect(spec?.containers[0].readinessProbe?.httpGet.path).toBe('/readyz');
    }
  });

  test('set only settings that src/config.ts reads, give the signing keys to workers only and the database owner to the migration only', () => {
    const known = new Set<string>();
    readConfig(new Proxy({}, { get: (_env, name) => void known.add(String(name)) }));
    const settings = parseEnv(read('settings.env'));
    const secrets = new Map(
      manifestsOf('secrets.example.yaml').map(({ manifest }) => [
        manifest.metadata.name,
        Object.keys(z.record(z.string(), z.string()).parse(manifest.stringData)),
      ]),
    );
    expect([...Object.keys(settings), ...[...secrets.values()].flat()].filter((name) => !known.has(name))).toEqual([]);
    expect(secrets.get('coinop-keys')).toEqual(['FEE_PAYER_KEY', 'EPOCH_AUTHORITY_KEY', 'TREASURY_KEY', 'COMMITTER_KEY']);
    expect(secrets.get('coinop-owner')).toEqual(['MIGRATION_DATABASE_URL']);
    expect(Object.fromEntries(workloads.map(([name]) => [name, secretsOf(name)]))).toEqual({
      'coinop-api': ['coinop-service'],
      'coinop-worker': ['coinop-service', 'coinop-keys'],
      'coinop-migrate': ['coinop-service', 'coinop-owner'],
    });
    // The settings are complete: production accepts them when the secrets are filled in.
    const filled = {
      SESSION_KEYS: 'k'.repeat(32),
      RECEIPT_KEY: Buffer.alloc(32, 1).toString('base64'),
      MEDIA_S3_ACCESS_KEY: 'a',
      MEDIA_S3_SECRET_KEY: 'b',
    };
    expect(readConfig({ ...settings, ...filled })).toMatchObject({ production: true, trustProxy: true, metrics: { port: 9464 } });
  });

  test('scale the workers by all waiting jobs, including those with a priority', () => {
    const Scaled = z.looseObject({
      spec: z.looseObject({
        scaleTargetRef: z.object({ name: z.string() }),
        triggers: z.tuple([z.looseObject({ metadata: z.object({ query: z.string() }).loose() })]),
      }),
    });
    const found = manifests.find(({ manifest }) => manifest.kind === 'ScaledObject')?.manifest;
    const { scaleTargetRef, triggers } = Scaled.parse(found).spec;
    expect(podOf(scaleTargetRef.name)).toBeDefined();
    const [, metric = '', states = ''] = /(\w+)\{state=~"([^"]+)"\}/.exec(triggers[0].metadata.query) ?? [];
    const source = readFileSync(join(root, 'src/platform/observability/metrics/queue-gauges.ts'), 'utf8');
    expect(source).toContain(`${metric}:`);
    for (const state of states.split('|')) expect(source).toMatch(new RegExp(`STATES = .*'${state}'`));
    expect(states.split('|')).toEqual(['waiting', 'prioritized']);
  });

  test('select the pods that exist: disruption budgets, services and network policies name labels of the templates', () => {
    const Selects = z.looseObject({
      spec: z.looseObject({
        selector: z.union([z.object({ matchLabels: z.record(z.string(), z.string()) }), z.record(z.string(), z.string())]).optional(),
        podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }).optional(),
      }),
    });
    const checked = manifests.flatMap((one) => {
      if (!['PodDisruptionBudget', 'Service', 'NetworkPolicy'].includes(one.manifest.kind)) return [];
      const { selector = {}, podSelector } = Selects.parse(one.manifest).spec;
      const labels =
        podSelector?.matchLabels ?? ('matchLabels' in selector && typeof selector.matchLabels === 'object' ? selector.matchLabels : selector);
      const pods = workloads.filter(([, { metadata }]) => Object.entries(labels).every(([name, value]) => metadata.labels[name] === value));
      return [{ name: nameOf(one), selects: Object.keys(labels).length > 0 && pods.length > 0 }];
    });
    expect(checked.length).toBe(5);
    expect(checked.filter(({ selects }) => !selects)).toEqual([]);
  });
});
