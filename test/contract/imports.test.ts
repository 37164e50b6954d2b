import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { importsOf, resolveImport } from '#dev/test/imports.ts';

const root = join(import.meta.dirname, '../..');

/** Areas in their order, leftmost first. Areas on one line do not import each other; README shows the same order. */
const AREAS = [
  ['points', 'payouts'],
  ['arcade', 'clips', 'social', 'referrals', 'lottery'],
  ['burns', 'chat', 'quests', 'battles'],
  ['wallets'],
  ['leaderboards', 'rewards'],
  ['auth', 'profile', 'events', 'appeals', 'actions'],
  ['privacy'],
  ['admin', 'web'],
];
const orderOf = (area: string) => AREAS.findIndex((line) => line.includes(area));

/** Rooms and the rooms that each may import besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  config: ['lib', 'platform'],
  platform: ['lib', 'config'],
  jobs: ['lib', 'platform'],
  areas: ['lib', 'platform', 'config', 'jobs'],
  app: ['lib', 'platform', 'config', 'jobs', 'areas'],
  workers: ['lib', 'platform', 'config', 'jobs', 'areas', 'app'],
  programs: ['lib', 'platform'],
  games: ['lib'],
  packages: ['lib', 'platform', 'areas', 'app', 'config'],
  examples: ['packages'],
  dev: ['lib', 'platform', 'programs'],
  tools: ['lib', 'platform', 'config', 'jobs', 'areas', 'app', 'workers', 'dev', 'programs', 'packages', 'games', 'test'],
  test: ['lib', 'platform', 'config', 'jobs', 'areas', 'app', 'workers', 'dev', 'programs', 'packages', 'games', 'tools'],
};

/** Lists of the areas: these files import parts of every area besides its index.ts. */
const LISTS: Readonly<Record<string, RegExp>> = {
  'src/areas/index.ts': /\/routes(?:\/index)?\.ts$/,
  'src/areas/registry.ts': /\/(?:entities|events|gauges|treasury-gauges|scores\/broadcast)\.ts$/,
  'src/areas/seeds.ts': /\/seeds?\.ts$/,
};

const FOLDERS = ['src', 'jobs', 'workers', 'dev', 'tools', 'test', 'programs', 'packages', 'games', 'examples'];
const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/node_modules|\bdist\//.test(file))
    .map((file) => join(folder, file))
    // The simulations of games are in another language, AssemblyScript.
    .filter((file) => !/^games\/[^/]+\/simulation\.ts$/.test(file)),
);
const textOf = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const imports = [...textOf].flatMap(([from, text]) =>
  importsOf(text).flatMap(({ specifier, isType }) => {
    const to = resolveImport(from, specifier);
    return to === null || to === 'package.json' ? [] : [{ from, to, specifier, isType }];
  }),
);

/** The room of a file, which decides the rooms that it may import. */
function roomOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  if (top !== 'src') return top;
  if (file === 'src/config.ts') return 'config';
  return ['lib', 'platform', 'areas'].includes(second) ? second : 'app';
}
const areaOf = (file: string) => /^src\/areas\/([^/]+)\//.exec(file)?.[1];
const isPublicApi = (file: string, area: string) => file === `src/areas/${area}/index.ts`;
/** The smallest folder within which imports are relative. */
const neighbourhood = (file: string) => {
  const parts = file.split('/');
  const depth = file.startsWith('src/lib/')
    ? 2
    : parts[0] === 'src'
      ? 3
      : parts[0] === 'test' && parts[1] === 'areas'
        ? 3
        : ['dev', 'tools', 'test'].includes(parts[0] ?? '')
          ? 2
          : 1;
  return parts.slice(0, Math.min(depth, parts.length - 1)).join('/');
};

test('every import names a file that exists', () => {
  const missing = imports.filter(({ to }) => !textOf.has(to) && !/\.(?:js|json|so)$/.test(to));
  expect(missing).toEqual([]);
});

test('imports go lib ← platform ← jobs ← areas ← app, workers; other rooms import only the rooms that they use', () => {
  const wrong = imports.filter(({ from, to }) => roomOf(from) !== roomOf(to) && !MAY_IMPORT[roomOf(from)]?.includes(roomOf(to)));
  expect(wrong).toEqual([]);
});

test('the platform takes only the type of the configuration; the configuration takes only the settings of the platform', () => {
  const wrong = imports.filter(({ from, to, isType }) => {
    if (roomOf(from) === 'platform' && roomOf(to) === 'config') return !isType;
    return roomOf(from) === 'config' && roomOf(to) === 'platform' && basename(to) !== 'config.ts';
  });
  expect(wrong).toEqual([]);
});

/** The folders that may import the chain library. The tests among them are clients of the chain that are independent of the service. */
const CHAIN_LIBRARY_USERS = ['src/platform/solana/', 'test/platform/solana/', 'test/programs/', 'test/support/solana/', 'test/dev/localnet/'];

test('only the platform’s solana folder and independent test clients import @solana/web3.js', () => {
  const users = [...textOf].filter(([, text]) => importsOf(text).some(({ specifier }) => specifier.startsWith('@solana/')));
  const wrong = users.map(([file]) => file).filter((file) => !CHAIN_LIBRARY_USERS.some((folder) => file.startsWith(folder)));
  expect(wrong).toEqual([]);
});

test('the published client imports nothing outside its package', () => {
  const wrong = imports.filter(({ from, to }) => from.startsWith('packages/client/src/') && !to.startsWith('packages/client/src/'));
  expect(wrong).toEqual([]);
});

test('every area has a place in the order', () => {
  const areas = new Set(files.flatMap((file) => areaOf(file) ?? []));
  expect([...areas].filter((area) => orderOf(area) < 0)).toEqual([]);
  expect(AREAS.flat().filter((area) => !areas.has(area))).toEqual([]);
});

test('an area is imported through its index.ts, and only by areas on its right', () => {
  const wrong = imports.filter(({ from, to }) => {
    const [importer, imported] = [areaOf(from), areaOf(to)];
    if (imported === undefined || importer === imported || ['test', 'tools', 'packages'].includes(roomOf(from))) return false;
    if (importer === undefined) return !isPublicApi(to, imported) && !LISTS[from]?.test(to);
    return !isPublicApi(to, imported) || orderOf(imported) >= orderOf(importer);
  });
  expect(wrong).toEqual([]);
});

test('imports within a room are relative, and imports of other rooms are subpaths', () => {
  const wrong = imports.filter(({ from, to, specifier }) => {
    if (from.startsWith('packages/') || dirname(from) === 'src') return false;
    const isNear = neighbourhood(from) === neighbourhood(to) || to.startsWith(`${dirname(from)}/`);
    return specifier.startsWith('.') ? !isNear : isNear && roomOf(from) !== 'platform';
  });
  expect(wrong).toEqual([]);
});

test('no imports form a circle', () => {
  const graph = Map.groupBy(imports, ({ from }) => from);
  const state = new Map<string, 'open' | 'done'>();
  const circles: string[][] = [];
  const visit = (file: string, path: readonly string[]) => {
    if (state.get(file) === 'done') return;
    if (state.get(file) === 'open') return void circles.push([...path.slice(path.indexOf(file)), file]);
    state.set(file, 'open');
    for (const { to } of graph.get(file) ?? []) visit(to, [...path, file]);
    state.set(file, 'done');
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test('no file is longer than 300 lines, and no folder holds more than 22 files', () => {
  const generated = new Set(['packages/client/src/api.ts']);
  const long = [...textOf].map(([file, text]) => ({ file, lines: text.split('\n').length - 1 })).filter(({ lines }) => lines > 300);
  expect(long.filter(({ file }) => !generated.has(file))).toEqual([]);
  // A migration is one file each, for ever.
  const crowded = [...Map.groupBy(files, dirname)].filter(([folder, all]) => all.length > 22 && !folder.endsWith('/migrations'));
  expect(crowded.map(([folder, all]) => [folder, all.length])).toEqual([]);
});

test('no file has a name that says nothing about its content', () => {
  expect(files.filter((file) => /^(?:utils?|helpers?|common|types|misc)\.ts$/.test(basename(file)))).toEqual([]);
});

test('only app.clock and app_now() read the time', () => {
  const wrong = [...textOf]
    .filter(([file]) => /^(?:src|jobs|workers)\//.test(file) && file !== 'src/lib/clock.ts')
    .flatMap(([file, text]) => text.split('\n').map((line, i) => ({ at: `${file}:${i + 1}`, line: line.trim() })))
    .filter(({ line }) => /\bDate\.now\(|\bnew Date\(\)|(?<![\w.#])now\(\)(?!:)|\bcurrent_(?:timestamp|date|time)\b/i.test(line));
  expect(wrong).toEqual([]);
});

test('modules keep no state by application: perApp does', () => {
  const wrong = [...textOf].filter(
    ([file, text]) => /^(?:src|jobs|workers)\//.test(file) && /new Weak(?:Map|Set)<(?:App\b|Redis\b|Koa\b)/.test(text),
  );
  expect(wrong.map(([file]) => file)).toEqual([]);
});
