import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { createDatabase, testRedisUrl } from '#test/support/database.ts';
import { PRODUCTION } from '#test/support/production.ts';

const root = join(import.meta.dirname, '../../..');
const SECRET = 'planted-7c1e9a2f';
/** Services on the Internet, which refuse the connection at once in tests. */
const OFFLINE = { DRAND_URLS: 'http://127.0.0.1:1', PRICE_URL: 'http://127.0.0.1:1' };
const Report = z.object({
  ok: z.boolean(),
  process: z.string(),
  counts: z.object({ ok: z.int(), off: z.int(), warning: z.int(), wrong: z.int() }),
  findings: z.array(z.strictObject({ check: z.string(), state: z.string(), what: z.string(), remedy: z.string().nullable() })),
});

let database: { url: string; drop(): Promise<void> };
let folder: string;
let file: string;
beforeAll(async () => {
  database = await createDatabase();
  folder = mkdtempSync(join(tmpdir(), 'coinop-doctor-'));
  file = join(folder, 'settings.env');
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command of the project with exactly these environment variables. */
async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(command, args, { cwd: root, env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const status = new Promise((resolve) => child.on('exit', resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { status: await status, out, err };
}

test('bin/doctor reads the settings of a file, prints one line per finding and what to do, and exits with 1', async () => {
  const settings = {
    ...PRODUCTION,
    PUBLIC_URL: 'http://coinop.example',
    DATABASE_URL: `postgresql://coinop:${SECRET}@127.0.0.1:1/coinop`,
    REDIS_URL: `redis://:${SECRET}@127.0.0.1:1`,
    SOLANA_RPC_URL: `http://127.0.0.1:1/${SECRET}?key=${SECRET}`,
    TREASURY_KEY: SECRET,
    ADMIN_TOKENS: `ops:monye:${SECRET}-${SECRET}`,
    MEDIA_FOLDER: folder,
    ...OFFLINE,
  };
  writeFileSync(
    file,
    Object.entries(settings)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(''),
  );
  const began = performance.now();
  const { status, out, err } = await run('bin/doctor', ['--env', file], { PUBLIC_URL: 'https://ignored.example', NODE_ENV: 'development' });
  expect({ status, err }).toEqual({ status: 1, err: '' });
  expect(performance.now() - began).toBeLessThan(25_000);
  expect(out).toContain('wrong    settings      PUBLIC_URL must be https in production\n');
  expect(out).toContain('wrong    settings      ADMIN_TOKENS: the scopes of ops must be of');
  expect(out).toMatch(/^wrong {4}postgresql .*\n {23}→ Start PostgreSQL, or correct DATABASE_URL\.$/m);
  expect(out).toMatch(/^wrong {4}redis .*\n {23}→ Start Redis, or correct REDIS_URL\.$/m);
  expect(out).toMatch(/^wrong {4}rpc .*SOLANA_RPC_URL does not answer/m);
  expect(out).toMatch(/^wrong {4}keys .*TREASURY_KEY cannot be read/m);
  expect(out).toMatch(/\nworker: \d+ wrong, \d+ warnings, \d+ right, \d+ not used\n$/);
  expect(out).not.toContain(SECRET);
});

test('bin/doctor --json prints one object with the findings of the chosen type of process', async () => {
  const settings = { DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), MEDIA_FOLDER: folder, NODE_ENV: 'production', ...OFFLINE };
  const wrong = await run('bin/doctor', ['--json', '--for', 'worker'], settings);
  const report = Report.parse(JSON.parse(wrong.out));
  expect([wrong.status, report.ok, report.process]).toEqual([1, false, 'worker']);
  expect(report.counts.wrong).toBe(report.findings.filter(({ state }) => state === 'wrong').length);
  expect(report.findings).toContainEqual({
    check: 'settings',
    state: 'wrong',
    what: expect.stringContaining('PUBLIC_URL must be set'),
    remedy: null,
  });
});

test('bin/doctor exits with 2 and prints its usage when it cannot read the file of settings', async () => {
  const { status, out, err } = await run('bin/doctor', ['--env', '/no/such/file']);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toMatch(/ENOENT[\s\S]*usage: bin\/doctor/);
});

test.each(['src/server.ts', 'workers/main.ts'])(
  '%s does not start in production without a chain and TLS, and names all wrong settings',
  async (entry) => {
    const { SOLANA_RPC_URL: _rpc, DISTRIBUTOR_PROGRAM_ID: _program, ...settings } = PRODUCTION;
    const { status, err } = await run(process.execPath, [entry], { ...settings, PUBLIC_URL: 'http://coinop.example' });
    expect(status).toBe(1);
    for (const sentence of ['SOLANA_RPC_URL must be set in production', 'DISTRIBUTOR_PROGRAM_ID must be set', 'PUBLIC_URL must be https']) {
      expect(err).toContain(sentence);
    }
  },
);
