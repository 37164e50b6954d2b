import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { PACKAGES, packPackages, run } from '#test/support/packages.ts';

const root = join(import.meta.dirname, '../..');
const bin = (name: string) => join(root, 'node_modules/.bin', name);
const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string() });
const manifestOf = (folder: string) => Manifest.parse({ license: 'MIT', ...JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) });

let packed: Awaited<ReturnType<typeof packPackages>>;
beforeAll(async () => {
  packed = await packPackages();
}, 120_000);
afterAll(() => packed.remove());

test('the types of the packed packages resolve in node10, node16 and bundlers; CommonJS loads them as ES modules', async () => {
  for (const tarball of packed.tarballs) {
    const check = (...options: readonly string[]) => run(process.execPath, [bin('attw'), tarball, '--format', 'json', '--no-emoji', ...options]);
    await expect(check()).rejects.toMatchObject({ stdout: expect.stringContaining('CJSResolvesToESM') });
    await check('--ignore-rules', 'cjs-resolves-to-esm');
  }
}, 120_000);

test('the packed packages hold JavaScript, source maps, types, README and LICENSE, and no sources or tests', async () => {
  for (const tarball of packed.tarballs) {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout.trim().split('\n');
    for (const file of ['package/package.json', 'package/README.md', 'package/LICENSE']) expect(files).toContain(file);
    expect(files.some((file) => file.endsWith('.js.map'))).toBe(true);
    expect(files.filter((file) => !/\.(?:js|js\.map|d\.ts|md|json|html)$|LICENSE$/.test(file))).toEqual([]);
  }
}, 30_000);

test('the packages have the version of the service and its license', () => {
  const { version } = manifestOf('.');
  for (const name of PACKAGES) expect(manifestOf(`packages/${name}`)).toEqual({ name: `@coinop/${name}`, version, license: 'MIT' });
});

test('the workflows are valid, and the one that publishes has only the rights to read the code and to prove its origin', async () => {
  for (const file of ['test.yml', 'publish.yml']) await run(process.execPath, [bin('action-validator'), join(root, '.github/workflows', file)]);
  const workflow: unknown = parse(readFileSync(join(root, '.github/workflows/publish.yml'), 'utf8'));
  expect(workflow).toMatchObject({ permissions: {}, jobs: { publish: { permissions: { contents: 'read', 'id-token': 'write' } } } });
});
