import { createReadStream, existsSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chromium } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { npm, packPackages, run } from '#test/support/packages.ts';
import { createRecentWorld, pinsOf, serveWorld } from '#test/support/verify/served-world.ts';

const root = join(import.meta.dirname, '../..');
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json' };

/** A folder in which the packages are installed from npm, as a newcomer would install them, with the examples. */
let folder: string;
let t: TestApp;
const page = createServer((request, response) => {
  const path = join(folder, new URL(request.url ?? '/', 'http://page').pathname);
  if (!existsSync(path)) return void response.writeHead(404).end();
  response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'text/plain' });
  createReadStream(path).pipe(response);
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coinop-installed-'));
  const packed = await packPackages();
  await cp(join(root, 'examples/packages'), folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true }));
  await npm(['install', '--ignore-scripts', ...packed.tarballs], folder);
  await packed.remove();
  await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
  t = await startTestApp({ env: { ALLOWED_ORIGINS: origin() } });
}, 300_000);
afterAll(async () => {
  await t?.close();
  page.close();
  await rm(folder, { recursive: true, force: true });
});
const origin = () => `http://127.0.0.1:${(page.address() as AddressInfo).port}`;

const SAMPLE = `
import { createClient, ok, type Api } from '@coinop/client';
import { EXIT_CODES, verifyRound, type VerifyOptions } from '@coinop/verify';

const client = createClient({ baseUrl: 'http://localhost:3000' });
export const games = async (): Promise<number> => (await ok(client.get('/config/games'))).body.length;
export const entry = (one: Api.LeaderboardEntry): string => one.wallet;
export const verify = async (options: VerifyOptions): Promise<number> => EXIT_CODES[(await verifyRound(options)).verdict];
// @ts-expect-error a round needs an id
verifyRound({ house: 'http://localhost' });
`;

test.each([
  ['nodenext', 'nodenext', 'mts'],
  ['nodenext', 'nodenext', 'cts'],
  ['esnext', 'bundler', 'ts'],
])(
  'an empty project with module %s and moduleResolution %s compiles a .%s file with both packages, strictly and with their declarations',
  async (module, moduleResolution, extension) => {
    await writeFile(join(folder, `sample.${extension}`), SAMPLE);
    const compilerOptions = {
      target: 'es2024',
      module,
      moduleResolution,
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: [`sample.${extension}`] }));
    const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  },
  120_000,
);

test('the example in Node signs in, plays and prints its rank', async () => {
  const { stdout } = await run(process.execPath, ['play.mjs', 'gem-drop', '12000', '11'], { cwd: folder, env: { ...process.env, BASE_URL: t.url } });
  expect(stdout).toMatch(/^\w{32,44} has \d+ of 10000 and rank 1\n$/);
}, 60_000);

test('CommonJS loads the packages with require', async () => {
  const code = `console.log(typeof require('@coinop/client').createClient, typeof require('@coinop/verify').verifyRound)`;
  expect((await run(process.execPath, ['-e', code], { cwd: folder })).stdout).toBe('function function\n');
}, 60_000);

test('the example page of another origin signs in and shows the leaderboard in Chromium, without a bundler', async () => {
  const browser = await chromium.launch({ executablePath: installedChromium(), chromiumSandbox: process.getuid?.() !== 0 });
  try {
    const shown = await browser.newPage();
    await shown.goto(`${origin()}/page.html?${new URLSearchParams({ service: t.url })}`);
    await shown.locator('#status:not(:empty)').waitFor({ timeout: 60_000 });
    expect(await shown.locator('#status').textContent()).toMatch(/^signed in as \w{32,44}$/);
    expect(await shown.locator('#board li').count()).toBe(1);
  } finally {
    await browser.close();
  }
}, 120_000);

test('the example that verifies a round prints every step and the verdict', async () => {
  const world = createRecentWorld(20, 10);
  const { house, rpc, close } = await serveWorld(world);
  try {
    const ended = await run(process.execPath, ['verify.mjs', house, world.facts.parameters.round, rpc], { cwd: folder }).catch(
      (error: object) => error,
    );
    // The round of this test is not drawn by drand quicknet, so without pins the example says that the round cannot be checked.
    expect(ended).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^\w[\w ]*: (?:true|unknown): (?!undefined).+\n(?:.*\n)*cannot be checked\n$/),
    });
    expect(Object.keys(pinsOf(world))).toContain('draws');
  } finally {
    close();
  }
}, 60_000);
