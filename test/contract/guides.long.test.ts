import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { verifyStandard } from '#platform/webhooks/signature.ts';
import { createSecret } from '#test/support/http/webhook.ts';

const root = join(import.meta.dirname, '../..');
const guides = join(root, 'docs/guides');
const pages = readdirSync(guides).filter((file) => file.endsWith('.md'));
const read = (file: string) => readFileSync(join(guides, file), 'utf8');

/** The code blocks of all guides, in their order. */
const blocks = pages.flatMap((page) =>
  [...read(page).matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = ''], index) => ({ page, index: index + 1, language, code })),
);
const hasGo = spawnSync('go', ['version']).status === 0;
const hasPython = spawnSync('python3', ['--version']).status === 0;

/** How to run a block of each language: the name of its file, and the command with its arguments before the file. */
const RUNNERS: Readonly<Record<string, { file: string; command: string; args: readonly string[]; isInstalled: boolean }>> = {
  js: { file: 'block.mjs', command: process.execPath, args: [], isInstalled: true },
  ts: { file: 'block.ts', command: process.execPath, args: [], isInstalled: true },
  sh: { file: 'block.sh', command: 'bash', args: ['-eu'], isInstalled: true },
  python: { file: 'block.py', command: 'python3', args: [], isInstalled: hasPython },
  go: { file: 'block.go', command: 'go', args: ['run'], isInstalled: hasGo },
};

let system: System;
let env: Record<string, string>;
let folder: string;
beforeAll(async () => {
  mkdirSync(join(root, '.data'), { recursive: true });
  folder = mkdtempSync(join(root, '.data/guides-'));
  const secret = createSecret();
  system = await startSystem({ env: { WEBHOOK_SECRET_CHAT_BRIDGE: secret } });
  const inherited = Object.fromEntries(['PATH', 'HOME', 'TMPDIR'].map((name) => [name, process.env[name] ?? '']));
  env = { ...inherited, BASE_URL: system.urls[0] ?? '', ADMIN_TOKEN: SYSTEM_ADMIN_TOKEN, WEBHOOK_SECRET_CHAT_BRIDGE: secret };
}, 120_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('each code block of the guides', () => {
  for (const { page, index, language, code } of blocks) {
    const runner = RUNNERS[language];
    // Jest lists the blocks of a language that is not installed as skipped.
    const run = runner?.isInstalled === false ? test.skip : test;
    run(
      `${page}, block ${index} (${language}) runs as it stands against a running service`,
      async () => {
        if (!runner) throw new Error(`the guides test cannot run ${language}`);
        const file = join(folder, `${index}-${runner.file}`);
        writeFileSync(file, code);
        const { stdout } = await promisify(execFile)(runner.command, [...runner.args, file], { cwd: root, env }).catch(
          (failure: { stdout: string; stderr: string }) => {
            throw new Error(`${failure.stdout}\n${failure.stderr}`);
          },
        );
        if (page === 'send-webhooks.md' && code.includes('/integrations/')) expect(stdout).toMatch(/\b200\b/);
        expect(stdout).not.toMatch(/"error":/);
      },
      60_000,
    );
  }

  test('is complete: the guide on webhooks signs in Node, Python, Go and bash', () => {
    expect(blocks.filter(({ page }) => page === 'send-webhooks.md').map(({ language }) => language)).toEqual(['js', 'python', 'go', 'sh', 'sh']);
  });
});

test('the test vectors of webhooks are accepted by the service, and refused with a changed body', () => {
  const Vector = z.strictObject({
    secret: z.string().startsWith('whsec_'),
    'webhook-id': z.string(),
    'webhook-timestamp': z.string(),
    'webhook-signature': z.string(),
    body: z.string(),
  });
  const vectors = z
    .array(Vector)
    .min(3)
    .parse(JSON.parse(read('webhook-vectors.json')));
  for (const { secret, body, ...headers } of vectors) {
    const keys = [Buffer.from(secret.slice('whsec_'.length), 'base64')];
    const now = new Date(Number(headers['webhook-timestamp']) * 1_000);
    expect(verifyStandard(keys, headers, Buffer.from(body), now)).toBe(headers['webhook-id']);
    expect(verifyStandard(keys, headers, Buffer.from(`${body} `), now)).toBeNull();
  }
});

test('every link of the guides leads to a file, and to a heading of this file', () => {
  const anchorsOf = (file: string) =>
    [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
  const wrong = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)].flatMap(([, path = '', anchor]) => {
      const file = path === '' ? join(guides, page) : resolve(dirname(join(guides, page)), path);
      const isRight = existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor));
      return isRight ? [] : [`${page}: ${path}#${anchor ?? ''}`];
    }),
  );
  expect(wrong).toEqual([]);
});
