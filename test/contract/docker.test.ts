import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '#config';
import { DRAIN_LIMIT } from '#dev/stack/processes.ts';
import { GRACE_MS } from '#platform/shutdown.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Of a service, what is looked at here. */
const Service = z.looseObject({
  image: z.string(),
  build: z.object({ context: z.literal('.'), target: z.string().optional() }).optional(),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
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
const named = (name: string) => services[name] ?? Service.parse({});
const ours = Object.entries(services).filter(([, service]) => service.build);

/** A stage of the Dockerfile: what it is called, and what it copies from the checkout. */
const stages = read('Dockerfile')
  .split(/^FROM /m)
  .slice(1)
  .map((text) => ({
    name: / AS (\S+)/.exec(text.split('\n')[0] ?? '')?.[1] ?? '',
    text,
    copies: [...text.matchAll(/^COPY (?!--from)(.+) (\S+)$/gm)].flatMap(([, from = '']) => from.split(' ')),
  }));
const stageOf = (target: string | undefined) => stages.find((stage) => (target === undefined ? stage === stages.at(-1) : stage.name === target));

/** Every variable that a process reads. */
function variables(): Set<string> {
  // The exporter of traces reads this one itself.
  const names = new Set(['OTEL_EXPORTER_OTLP_HEADERS']);
  readConfig(new Proxy({}, { get: (_env, name) => void names.add(String(name)) }));
  return names;
}

/** Whether Docker is given a file: the last pattern that names it, or a folder that it is in, decides. */
const patterns = read('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
function isGiven(file: string): boolean {
  const above = file.split('/').map((_, i, parts) => parts.slice(0, i + 1).join('/'));
  const last = patterns.findLast((pattern) => above.some((path) => pattern === '*' || matchesGlob(path, pattern.replace(/^!/, ''))));
  return last?.startsWith('!') ?? true;
}

/** What an entry point needs: our own files, imported or read by their place, and the packages. */
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
      if (name.startsWith('.')) visit(at(name));
      else if (!name.startsWith('node:') && !/^(?:import|export) type /.test(statement))
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

test('what the services name exists: files, stages, networks, volumes, each other', () => {
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
  expect(ours.map(([name]) => name).sort()).toEqual(['api', 'localnet', 'localnet-env', 'migrate', 'worker']);
});

test('every variable that is set is one that processes read; all are handed on, and keys to workers alone', () => {
  const known = variables();
  expect(known.size).toBeGreaterThan(50);
  const set = (name: string) => Object.keys(named(name).environment);
  expect([...set('api'), ...set('worker'), ...set('migrate')].filter((name) => !known.has(name))).toEqual([]);
  const inImage = [...(stages.at(-1)?.text.matchAll(/([A-Z_]+)=/g) ?? [])].map(([, name = '']) => name);
  expect(inImage.filter((name) => !known.has(name))).toEqual([]);
  expect([...known].filter((name) => !set('api').includes(name) && !set('worker').includes(name))).toEqual([]);
  const keys = ['FEE_PAYER_KEY', 'EPOCH_AUTHORITY_KEY', 'TREASURY_KEY', 'COMMITTER_KEY'];
  expect(keys.filter((key) => !set('worker').includes(key) || set('api').includes(key) || set('migrate').includes(key))).toEqual([]);
});

test('the Dockerfile is sound, runs the pinned Node as nobody in particular, and Docker is given what it copies', () => {
  expect(validate(read('Dockerfile')).map(({ message }) => message)).toEqual([]);
  const { devDependencies } = z.object({ devDependencies: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
  const node = /^ARG NODE_IMAGE=node:(\d+)-slim$/m.exec(read('Dockerfile'))?.[1];
  expect(node).toBe(devDependencies.node?.split('.')[0]);
  for (const { copies, text } of stages.slice(-2)) {
    expect(text).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    expect(copies.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const files = copies.flatMap((path) =>
      /\.\w+$/.test(path) ? [path] : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).map((file) => join(path, file)),
    );
    expect(files.filter((file) => file.endsWith('.ts') && !file.startsWith('programs/') && !isGiven(file))).toEqual([]);
  }
  expect(['.env', '.git/config', 'node_modules/zod/package.json', 'test/contract/docker.test.ts', 'README.md'].filter(isGiven)).toEqual([]);
});

test('the images hold everything that their entry points import or read, and the packages that they run', () => {
  const { dependencies } = z.object({ dependencies: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')));
  const entries = ours.map(([name, { build, command }]) => [name, build?.target, command.find((word) => word.endsWith('.ts'))] as const);
  for (const [name, target, entry] of [...entries, ['localnet', 'localnet', 'dev/localnet/main.ts'] as const]) {
    if (entry === undefined) continue;
    const { files, packages } = needsOf(entry);
    const copies = stageOf(target)?.copies ?? [];
    const missing = [...files].filter((file) => !isGiven(file) || !copies.some((path) => file === path || file.startsWith(`${path}/`)));
    expect({ name, missing }).toEqual({ name, missing: [] });
    // The cluster's image has the development packages, too.
    const notInstalled = target === undefined ? [...packages].filter((one) => !(one in dependencies)) : [];
    expect({ name, notInstalled, some: files.size > 20 }).toEqual({ name, notInstalled: [], some: true });
  }
});

test('processes are given the time that they take to stop, and are asked for their health where they listen', () => {
  for (const name of ['api', 'worker']) {
    const { stop_grace_period: grace = '', environment, healthcheck } = named(name);
    expect(Number.parseInt(grace, 10) * (grace.endsWith('m') ? 60_000 : 1_000)).toBeGreaterThan(GRACE_MS + 5_000);
    expect(healthcheck?.test?.at(-1)).toContain(`:${environment.METRICS_PORT}/readyz`);
  }
  expect(DRAIN_LIMIT).toBeGreaterThanOrEqual(GRACE_MS + 5_000);
  expect(read('docs/operations.md')).toContain(`within ${GRACE_MS / 1_000} s`);
});
