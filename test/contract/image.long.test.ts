import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { cpSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { SERVICE_ROLE } from '#dev/stack/postgres-cluster.ts';
import { createEmptyDatabase, testRedisUrl } from '#test/support/database.ts';
import { isInBuildContext, readStages } from '#test/support/dockerfile.ts';
import { PATIENCE } from '#test/support/patience.ts';

const root = join(import.meta.dirname, '../..');
const Lock = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) });

const ADDRESS = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';

let folder: string;
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let env: Record<string, string>;
const running: ChildProcess[] = [];

beforeAll(async () => {
  // The folder is beside node_modules, because hard links do not cross file systems.
  mkdirSync(join(root, '.data'), { recursive: true });
  folder = mkdtempSync(join(root, '.data/image-'));
  buildImage(folder);
  database = await createEmptyDatabase();
  env = {
    PATH: process.env.PATH ?? '',
    LOG_LEVEL: 'info',
    METRICS_PORT: '0',
    PORT: '0',
    NODE_ENV: 'production',
    DATABASE_URL: database.url.replace('//coinop@', `//${SERVICE_ROLE}@`),
    REDIS_URL: testRedisUrl(),
    REDIS_PREFIX: `image-${randomBytes(4).toString('hex')}`,
    PUBLIC_URL: 'https://arcade.example',
    SESSION_KEYS: 'k'.repeat(40),
    RECEIPT_KEY: Buffer.alloc(32, 7).toString('base64'),
    MEDIA_FOLDER: join(folder, 'media'),
    // No process of this test sends a transaction, so any address will do.
    SOLANA_RPC_URL: 'http://127.0.0.1:1',
    DISTRIBUTOR_PROGRAM_ID: ADDRESS,
    REWARD_MINT: ADDRESS,
    USDC_MINT: ADDRESS,
  };
}, 120_000);

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

/** Fills a folder with the files that the image of the service contains: what its stage copies, and the packages without those of development. */
function buildImage(target: string): void {
  const stages = readStages();
  const packages = stages.find(({ name }) => name === 'packages')?.text ?? '';
  expect(packages).toContain('npm ci --omit=dev --ignore-scripts');
  const removed = /rm -rf (.+?) \\/.exec(packages)?.[1]?.split(' ') ?? [];
  for (const [path, { dev }] of Object.entries(Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).packages)) {
    const isRemoved = removed.some((name) => path === name || path.startsWith(`${name}/`));
    if (path !== '' && !dev && !isRemoved && existsSync(join(root, path))) linkPackage(path, target);
  }
  const link = /ln -s \S+ (\S+)$/m.exec(packages)?.[1] ?? '';
  mkdirSync(join(target, dirname(link)), { recursive: true });
  symlinkSync(process.execPath, join(target, link));
  for (const path of stages.at(-1)?.made ?? []) cpSync(join(root, path), join(target, path), { recursive: true });
  for (const { from, to } of stages.at(-1)?.copies ?? []) {
    for (const path of from) {
      const isFolder = statSync(join(root, path)).isDirectory();
      const place = join(target, to.endsWith('/') && !isFolder ? join(to, basename(path)) : to);
      const filter = (file: string) => statSync(file).isDirectory() || isInBuildContext(file.slice(root.length + 1));
      cpSync(join(root, path), place, { recursive: true, filter });
    }
  }
}

/** Hard-links the files of one package. Packages inside its node_modules have their own entry in the lock file. */
function linkPackage(path: string, target: string): void {
  for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules') linkPackage(inside, target);
    if (!entry.isFile()) continue;
    mkdirSync(join(target, path), { recursive: true });
    linkSync(join(root, inside), join(target, inside));
  }
}

interface Outcome {
  readonly code: number;
  readonly text: string;
}

/** Runs a command in the folder of the image. */
const run = (command: string, args: readonly string[], extra: Record<string, string> = {}): Promise<Outcome> =>
  promisify(execFile)(command, [...args], { cwd: folder, env: { ...env, ...extra } }).then(
    ({ stdout, stderr }) => ({ code: 0, text: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, text: stdout + stderr }),
  );
const node = process.execPath;

/** Starts a process of the image, and waits until its log has a line. */
async function startUntil(entry: string, line: string): Promise<void> {
  const child = spawn(node, [entry], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
  for (const end = Date.now() + PATIENCE * 30_000; !text.includes(line); await sleep(50)) {
    if (child.exitCode !== null || Date.now() > end) throw new Error(`${entry} did not log "${line}": ${text}`);
  }
  child.kill('SIGTERM');
}

test('in the image, the migration, an API process and a worker start without development packages', async () => {
  const migrated = await run(node, ['src/migrate.ts'], { MIGRATION_DATABASE_URL: database.url });
  expect(migrated).toEqual({ code: 0, text: expect.stringContaining('database is up to date') });
  await startUntil('src/server.ts', 'api is ready');
  await startUntil('workers/main.ts', 'worker is ready');
}, 120_000);

test('in the image, bin/audit checks a database with the rights of the service', async () => {
  expect(await run('bin/audit', ['--only', 'guards'])).toEqual({ code: 0, text: expect.stringMatching(/^fine\s+guards/m) });
});

const HOUSE = ['http://127.0.0.1:1', '1', '--rpc', 'http://127.0.0.1:1'];

test.each([
  ['bin/deploy', [], 1, 'bin/deploy'],
  ['bin/verify-round', HOUSE.with(1, randomUUID()), 2, '127.0.0.1:1'],
  ['bin/verify-epoch', HOUSE, 2, '127.0.0.1:1'],
  ['bin/verify-score', ['http://127.0.0.1:1', '1'], 2, '127.0.0.1:1'],
] as const)('in the image, %s runs without development packages', async (command, args, code, text) => {
  const outcome = await run(command, args);
  expect(outcome).toEqual({ code, text: expect.stringContaining(text) });
  expect(outcome.text).not.toMatch(/ERR_MODULE_NOT_FOUND|Cannot find/);
});

test('the image contains every command that docs/operations.md names', () => {
  const text = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const named = [...text.matchAll(/\b(bin\/[a-z-]+|(?:src|workers|tools)\/[\w/-]+\.ts)\b/g)].map(([, path = '']) => path);
  const elsewhere = new Set(['bin/dev', 'bin/test', 'bin/bench', 'bin/soak', 'bin/fuzz']);
  expect(named.length).toBeGreaterThan(5);
  expect([...new Set(named)].filter((path) => !elsewhere.has(path) && !existsSync(join(folder, path)))).toEqual([]);
});
