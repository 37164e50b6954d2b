import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { KNOWN_PROGRAM, programHash, verifyRound } from '#packages/verify/src/index.ts';
import { chatParameters, entriesOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { SLOWDOWN } from '#test/support/slowdown.ts';
import { bundleForBrowsers } from '#test/support/verify/browser.ts';
import { createWorld } from '#test/support/verify/world.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'packages/verify');

test('the known program is programs/draws/draws.so', () => {
  expect(programHash(readFileSync(join(root, 'programs/draws/draws.so')))).toBe(KNOWN_PROGRAM);
});

test('the built package verifies a round, and uses neither Node nor other packages than its dependencies', async () => {
  await promisify(execFile)(process.execPath, [join(folder, 'build.ts')]);
  const dist = join(folder, 'dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
  const text = files.map((file) => readFileSync(join(dist, file), 'utf8')).join('\n');
  const imported = [...text.matchAll(/^(?:import|export)\b[^;']*?from ['"]([^'".][^'"]*)['"]/gm)].map(([, name = '']) =>
    name.replace(/^(@[^/]+\/[^/]+|[^/]+).*/, '$1'),
  );
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
  expect(text.match(/\b(?:Buffer\.|process\.|require\(|node:)/g)).toBeNull();

  const built: unknown = await import(join(dist, 'packages/verify/src/index.js'));
  const { verifyRound: verifyBuilt } = z.object({ verifyRound: z.custom<typeof verifyRound>((value) => typeof value === 'function') }).parse(built);
  const parameters = chatParameters();
  const world = createWorld(parameters, entriesOf(parameters, 20, 10, randomGenerator(1)));
  expect(await verifyBuilt(world.options())).toMatchObject({ verdict: 'true' });
});

test('a bundle for browsers has only the package, the parts of src/lib that it uses, and its dependencies', async () => {
  // A part of Node in the package or in a dependency fails the build.
  const { metafile, outputFiles } = await bundleForBrowsers();
  expect(Object.values(metafile.outputs).flatMap((output) => output.imports)).toEqual([]);
  const places = Object.keys(metafile.inputs).map(
    (path) => /^(?:packages\/verify|src\/lib|.*node_modules\/(?:@[^/]+\/)?[^/]+)(?=\/)/.exec(path)?.[0],
  );
  const packages = ['@noble/curves', '@noble/hashes', 'base-x', 'bs58', 'zod'].map((name) => expect.stringMatching(`(?:^|/)node_modules/${name}$`));
  expect([...new Set(places)].sort()).toEqual([...packages, 'packages/verify', 'src/lib']);
  expect(outputFiles[0]?.text).not.toMatch(/\b(?:Buffer\.|process\.|require\()/);
});

test('the dependencies of the package have the versions of the service', () => {
  const read = (file: string) =>
    z.object({ dependencies: z.record(z.string(), z.string()) }).parse(JSON.parse(readFileSync(file, 'utf8'))).dependencies;
  const own = read(join(root, 'package.json'));
  for (const [name, version] of Object.entries(read(join(folder, 'package.json')))) expect([name, own[name]]).toEqual([name, version]);
});

test.each([
  { count: 1_000, seconds: 2 },
  { count: 100_000, seconds: 10 },
])('a round of $count entries is verified in less than $seconds s', async ({ count, seconds }) => {
  const parameters = chatParameters({ maxEntriesPerWallet: 1_000 });
  const world = createWorld(parameters, entriesOf(parameters, count, 500, randomGenerator(7)));
  const options = world.options({ receipts: [world.receipt(count - 1)] });
  const before = process.cpuUsage();
  expect((await verifyRound(options)).verdict).toBe('true');
  const { user, system } = process.cpuUsage(before);
  // Measures processor time, because a loaded machine does not increase it much.
  expect((user + system) / 1_000_000).toBeLessThan(seconds * SLOWDOWN);
});
