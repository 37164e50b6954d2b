import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '#config';
import { DRAIN_TIMEOUT_MS } from '#dev/stack/processes.ts';
import { buildWeb } from '#packages/web/build.ts';
import { SHUTDOWN_TIMEOUT_MS } from '#platform/shutdown.ts';
import { isInBuildContext, readStages } from '#test/support/dockerfile.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The fields of a Compose service that these tests read. */
const Service = z.looseObject({
  image: z.string(),
  build: z.object({ context: z.literal('.'), target: z.string().optional() }).optional(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  profiles: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  mem_limit: z.string().optional(),
  cpus: z.number().optional(),
  depends_on: z.union([z.record(z.string(), z.unknown()), z.array(z.never()).transform(() => ({}))]).default({}),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+(?:s|m)$/)
    .optional(),
});
const Compose = z.looseObject({
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.unknown()),
  volumes: z.record(z.string(), z.unknown()),
});
const { services, networks, volumes } = Compose.parse(parse(read('docker-compose.yml'), { merge: true }));
const serviceOf = (name: string) => services[name] ?? Service.parse({});
const builtServices = Object.entries(services).filter(([, service]) => service.build);

const stages = readStages();
const stageOf = (target: string | undefined) => stages.find((stage) => (target === undefined ? stage === stages.at(-1) : stage.name === target));

/** Returns the name of every environment variable that a process reads. */
function variables(): Set<string> {
  // The OpenTelemetry exporter reads this variable, and the configuration does not.
  const names = new Set(['OTEL_EXPORTER_OTLP_HEADERS']);
  readConfig(new Proxy({}, { get: (_env, name) => void names.add(String(name)) }));
  return names;
}

const { imports: subpaths } = z.object({ imports: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));

/** Returns the path of a subpath import (`#lib/…`), by "imports" in package.json. As in Node, the longest prefix decides. */
function subpathTarget(name: string): string {
  const matches = Object.entries(subpaths).flatMap(([pattern, target]) => {
    const [prefix = '', suffix] = pattern.split('*');
    if (suffix === undefined) return pattern === name ? [{ pattern, prefix, path: target }] : [];
    if (name.length < pattern.length || !name.startsWith(prefix) || !name.endsWith(suffix)) return [];
    return [{ pattern, prefix, path: target.replace('*', name.slice(prefix.length, name.length - suffix.length)) }];
  });
  const [best] = matches.sort((a, b) => b.prefix.length - a.prefix.length || b.pattern.length - a.pattern.length);
  if (!best) throw new Error(`"imports" in package.json has no pattern for ${name}`);
  return normalize(best.path);
}

/** Returns the project files that an entry point imports or reads, and the packages that it imports. Type-only imports do not count. */
function needsOf(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    if (!file.endsWith('.ts')) return;
    const text = read(file);
    const at = (path: string) => relative(root, join(root, dirname(file), path));
    for (const [statement, name = ''] of text.matchAll(/(?:^import|^export|\bimport\s*\()(?:[^;']*?\bfrom)?\s*'([^']+)'/gm)) {
      if (name.startsWith('node:') || /^(?:import|export) type /.test(statement)) continue;
      if (name.startsWith('.')) visit(at(name));
      else if (name.startsWith('#')) {
        files.add('package.json');
        visit(subpathTarget(name));
      } else
        packages.add(
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        );
    }
    for (const [, path = ''] of text.matchAll(/join\(import\.meta\.dirname, '([^']+)'\)/g)) visit(at(path));
  };
  visit(entry);
  return { files, packages };
}

test('docker-compose.yml names only files, build stages, networks, volumes and services that exist', () => {
  const wrong = Object.entries(services).flatMap(([name, service]) => [
    ...service.command.filter((word) => word.endsWith('.ts') && !existsSync(join(root, word))),
    ...Object.keys(service.depends_on).filter((other) => !(other in services)),
    ...service.networks.filter((network) => !(network in networks)),
    ...service.volumes
      .map((volume) => volume.split(':')[0] ?? '')
      .filter((from) => (from.startsWith('.') ? !existsSync(join(root, from)) : !(from in volumes))),
    ...(service.build && !stageOf(service.build.target) ? [`${name}: ${service.build.target}`] : []),
  ]);
  expect(wrong).toEqual([]);
  expect(builtServices.map(([name]) => name).sort()).toEqual(['api', 'localnet', 'localnet-env', 'migrate', 'worker']);
});

test('docker-compose.yml passes on every variable that a process reads and no other, and the signing keys only to workers', () => {
  const known = variables();
  expect(known.size).toBeGreaterThan(50);
  const set = (name: string) => Object.keys(serviceOf(name).environment);
  expect([...set('api'), ...set('worker'), ...set('migrate')].filter((name) => !known.has(name))).toEqual([]);
  const inImage = [...(stages.at(-1)?.text.matchAll(/([A-Z_]+)=/g) ?? [])].map(([, name = '']) => name);
  expect(inImage.filter((name) => !known.has(name))).toEqual([]);
  const passedOn = [...set('api'), ...set('worker'), ...set('migrate')];
  expect([...known].filter((name) => !passedOn.includes(name))).toEqual([]);
  expect(['api', 'worker'].filter((name) => set(name).includes('MIGRATION_DATABASE_URL'))).toEqual([]);
  const keys = ['FEE_PAYER', 'EPOCH_AUTHORITY', 'TREASURY', 'COMMITTER'].flatMap((role) => [`${role}_KEY`, `${role}_SIGNER`, `${role}_SIGNER_TOKEN`]);
  expect(keys.filter((key) => !set('worker').includes(key) || set('api').includes(key) || set('migrate').includes(key))).toEqual([]);
});

test('the Dockerfile is valid, uses the pinned Node version and an unprivileged user, and copies only files of the build context', () => {
  expect(validate(read('Dockerfile')).map(({ message }) => message)).toEqual([]);
  const { devDependencies } = z.object({ devDependencies: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
  const node = /^ARG NODE_IMAGE=node:(\d+)-slim$/m.exec(read('Dockerfile'))?.[1];
  expect(node).toBe(devDependencies.node?.split('.')[0]);
  for (const { copies, text } of stages.slice(-2)) {
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    const paths = copies.flatMap(({ from }) => from);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const files = paths.flatMap((path) =>
      statSync(join(root, path)).isFile()
        ? [path]
        : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).map((file) => join(path, file)),
    );
    const isNeeded = (file: string) => paths.includes(file) || (file.endsWith('.ts') && !file.startsWith('programs/'));
    expect(files.filter((file) => isNeeded(file) && !isInBuildContext(file) && statSync(join(root, file)).isFile())).toEqual([]);
  }
  expect(['.env', '.git/config', 'node_modules/zod/package.json', 'test/contract/docker.test.ts', 'README.md'].filter(isInBuildContext)).toEqual([]);
});

/** Returns the commands of `bin/` that the image of the service contains. */
const operatorCommands = () => (stages.at(-1)?.copies ?? []).flatMap(({ from }) => from.filter((path) => path.startsWith('bin/')));

/** Returns the programs that shell scripts of `bin/` start. */
const programsOf = (commands: readonly string[]) =>
  commands.flatMap((command) => [...read(command).matchAll(/"\$root\/((?:tools|programs)\/[\w/-]+\.ts)"/g)].map(([, entry = '']) => entry));

test('the image contains every command of bin/ that needs no development package', () => {
  const development = ['bench', 'dev', 'fuzz', 'mutate', 'setup', 'soak', 'test'].map((name) => `bin/${name}`);
  const commands = readdirSync(join(root, 'bin')).map((name) => `bin/${name}`);
  expect(operatorCommands().toSorted()).toEqual(commands.filter((command) => !development.includes(command)));
  expect(programsOf(operatorCommands())).toHaveLength(operatorCommands().length);
});

test('each image contains every file and package that its entry points import or read', () => {
  const { dependencies } = z.object({ dependencies: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
  const entries: (readonly [name: string, target: string | undefined, entry: string | undefined])[] = [
    ...builtServices.map(([name, { build, command }]) => [name, build?.target, command.find((word) => word.endsWith('.ts'))] as const),
    ['localnet', 'localnet', 'dev/localnet/main.ts'],
    ...programsOf(operatorCommands()).map((entry) => [entry, undefined, entry] as const),
  ];
  for (const [name, target, entry] of entries) {
    if (entry === undefined) continue;
    const { files, packages } = needsOf(entry);
    const stage = stageOf(target);
    const copies = stage?.copies.flatMap(({ from }) => from) ?? [];
    const isCopied = (file: string) => isInBuildContext(file) && copies.some((path) => file === path || file.startsWith(`${path}/`));
    const missing = [...files].filter((file) => !stage?.made.includes(file) && !isCopied(file));
    expect({ name, missing }).toEqual({ name, missing: [] });
    // Only the localnet image contains the development packages.
    const notInstalled = target === undefined ? [...packages].filter((one) => !(one in dependencies)) : [];
    expect({ name, notInstalled, foundFiles: files.size > 20, hasImportMap: files.has('package.json') }).toEqual({
      name,
      notInstalled: [],
      foundFiles: true,
      hasImportMap: true,
    });
  }
});

test('the stage that builds the arcade page has every source file of it, and all of them are in the build context', async () => {
  const { sources } = await buildWeb();
  const files = sources.map((path) => normalize(join('packages/web', path))).filter((path) => !path.startsWith('node_modules/'));
  const copies = stageOf('web')?.copies.flatMap(({ from }) => from) ?? [];
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !isInBuildContext(file) || !copies.some((path) => file.startsWith(`${path}/`)))).toEqual([]);
  expect(isInBuildContext('packages/web/dist/manifest.json')).toBe(false);
});

test('the stop timeout of each container exceeds the shutdown time of its process, and each health check calls the metrics port', () => {
  for (const name of ['api', 'worker']) {
    const { stop_grace_period: grace = '', environment, healthcheck } = serviceOf(name);
    expect(Number.parseInt(grace, 10) * (grace.endsWith('m') ? 60_000 : 1_000)).toBeGreaterThan(SHUTDOWN_TIMEOUT_MS + 5_000);
    expect(healthcheck?.test?.at(-1)).toContain(`:${environment.METRICS_PORT}/readyz`);
  }
  expect(DRAIN_TIMEOUT_MS).toBeGreaterThanOrEqual(SHUTDOWN_TIMEOUT_MS + 5_000);
  expect(read('docs/operations.md')).toContain(`within ${SHUTDOWN_TIMEOUT_MS / 1_000} s`);
});

const raw = read('docker-compose.yml');

test('docker-compose.yml has no default for a secret or for the public address, and .env.example names each required variable', () => {
  const withDefault = [...raw.matchAll(/\$\{(\w+):?-([^}]+)\}/g)].map(([, name = '']) => name);
  expect(withDefault.filter((name) => /PASSWORD|TOKEN|KEY|SECRET|PUBLIC_URL/.test(name))).toEqual([]);
  const required = new Set([...raw.matchAll(/\$\{(\w+):\?([^}]*)\}/g)].map(([, name = '']) => name));
  expect([...required].toSorted()).toEqual(['ADMIN_TOKENS', 'POSTGRES_PASSWORD', 'POSTGRES_SERVICE_PASSWORD', 'PUBLIC_URL', 'REDIS_PASSWORD']);
  const example = read('.env.example');
  expect([...required, 'SESSION_KEYS', 'RECEIPT_KEY'].filter((name) => !new RegExp(`^${name}=`, 'm').test(example))).toEqual([]);
});

test('the servers of docker-compose.yml have a health check and limits of memory and CPU, and only the proxy listens outside of the machine', () => {
  for (const name of ['postgres', 'redis', 'prometheus', 'grafana']) {
    const { healthcheck, mem_limit: memory, cpus } = serviceOf(name);
    expect({ name, checked: healthcheck?.test?.length, memory, cpus }).toEqual({
      name,
      checked: expect.any(Number),
      memory: expect.stringMatching(/^\d+[gm]$/),
      cpus: expect.any(Number),
    });
  }
  const open = Object.entries(services).flatMap(([name, { ports = [] }]) => ports.filter((port) => !port.startsWith('127.0.0.1:')).map(() => name));
  expect(new Set(open)).toEqual(new Set(['proxy']));
});

test('the profile monitoring loads the alerts, a data source and the dashboards of ops/', () => {
  for (const name of ['prometheus', 'grafana']) expect(serviceOf(name).profiles).toEqual(['monitoring']);
  const mounts = ['prometheus', 'grafana'].flatMap((name) => serviceOf(name).volumes.map((volume) => volume.split(':')));
  const inside = (path: string) => mounts.find(([, to = '']) => path === to || path.startsWith(`${to}/`));
  const [provider] = z
    .object({ providers: z.array(z.object({ options: z.object({ path: z.string() }) })) })
    .parse(parse(read('ops/grafana/provisioning/dashboards/coinop.yml'))).providers;
  expect(inside(`${provider?.options.path}/coinop.json`)?.[0]).toBe('./ops/grafana/coinop.json');
  const { datasources } = z
    .object({ datasources: z.array(z.object({ url: z.url(), type: z.string() })) })
    .parse(parse(read('ops/grafana/provisioning/datasources/prometheus.yml')));
  expect(datasources).toEqual([{ url: 'http://prometheus:9090', type: 'prometheus' }]);
  const config =
    serviceOf('prometheus')
      .command.find((word) => word.startsWith('--config.file='))
      ?.split('=')[1] ?? '';
  expect(inside(config)?.[0]).toBe('./ops/prometheus');
  expect(serviceOf('prometheus').networks).toEqual(expect.arrayContaining(serviceOf('worker').networks));
});
