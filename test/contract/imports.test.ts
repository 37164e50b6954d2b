import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** Areas, leftmost first; those of one line do not know each other. */
const AREAS = [
  ['points', 'payouts'],
  ['arcade', 'clips', 'social', 'referrals', 'lottery'],
  ['burns', 'chat', 'quests', 'battles'],
  ['wallets'],
  ['leaderboards', 'rewards'],
  ['auth', 'profile', 'events'],
  ['admin'],
];
const place = (area: string) => AREAS.findIndex((line) => line.includes(area));

/** Where an area may be entered other than by its door, and by whom: the lists of what every area has. */
const LISTS: Record<string, RegExp> = {
  'src/areas/index.ts': /\.ts$/,
  'src/areas/entities.ts': /\/entities\.ts$/,
  'src/areas/seeds.ts': /\/seeds?\.ts$/,
};

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));
}
const files = ['src', 'jobs', 'workers', 'stack', 'test', 'localnet', 'programs', 'verify'].flatMap(filesIn);
const textOf = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

/** Every import between our own files, as paths from the root. */
const imports = [...textOf].flatMap(([from, text]) =>
  [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)].map((match) => ({
    from,
    to: relative(root, join(root, dirname(from), match[1] ?? '')),
  })),
);

/** The tier of a file: who may import it follows from that. */
const tierOf = (file: string) => (file.startsWith('src/lib/') ? 'src/lib' : (file.split('/')[0] ?? ''));
const MAY_IMPORT: Record<string, readonly string[]> = {
  'src/lib': ['src/lib'],
  jobs: ['jobs', 'src/lib'],
  src: ['src', 'src/lib', 'jobs'],
  workers: ['workers', 'src', 'src/lib', 'jobs'],
  programs: ['programs', 'src', 'src/lib'],
  localnet: ['localnet', 'programs', 'src', 'src/lib'],
  stack: ['stack', 'localnet'],
  verify: ['verify', 'src', 'src/lib'],
  test: ['test', 'src', 'src/lib', 'jobs', 'workers', 'stack', 'localnet', 'programs', 'verify', 'packages'],
};

const areaOf = (file: string) => /^src\/areas\/([^/]+)\//.exec(file)?.[1];
const isDoor = (file: string, area: string) => file === `src/areas/${area}/${area}.ts`;

test('imports go src/lib ← jobs ← src ← workers, and nobody imports workers', () => {
  const wrong = imports.filter(({ from, to }) => !MAY_IMPORT[tierOf(from)]?.includes(tierOf(to)));
  expect(wrong).toEqual([]);
});

test('every area has its place', () => {
  const areas = new Set(files.flatMap((file) => areaOf(file) ?? []));
  expect([...areas].filter((area) => place(area) < 0)).toEqual([]);
});

test('areas are entered by their doors, and know only those on their left', () => {
  const wrong = imports.filter(({ from, to }) => {
    const [inside, entered] = [areaOf(from), areaOf(to)];
    if (entered === undefined || inside === entered || from.startsWith('test/')) return false;
    if (inside === undefined) return !isDoor(to, entered) && !LISTS[from]?.test(to);
    return !isDoor(to, entered) || place(entered) >= place(inside);
  });
  expect(wrong).toEqual([]);
});

test('no file is longer than 300 lines', () => {
  const long = [...textOf].map(([file, text]) => ({ file, lines: text.split('\n').length - 1 })).filter(({ lines }) => lines > 300);
  expect(long).toEqual([]);
});

test('no file is a drawer', () => {
  expect(files.filter((file) => /^(?:utils?|helpers?|common|types|misc)\.ts$/.test(basename(file)))).toEqual([]);
});

test('only the clock tells the time: app.clock in processes, app_now() in SQL', () => {
  const wrong = [...textOf]
    .filter(([file]) => /^(?:src|jobs|workers)\//.test(file) && file !== 'src/lib/clock.ts')
    .flatMap(([file, text]) => text.split('\n').map((line, i) => ({ at: `${file}:${i + 1}`, line: line.trim() })))
    .filter(({ line }) => /\bDate\.now\(|\bnew Date\(\)|(?<![\w.#])now\(\)(?!:)|\bcurrent_(?:timestamp|date|time)\b/i.test(line));
  expect(wrong).toEqual([]);
});
