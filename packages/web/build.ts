import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BuildOptions, build, type Metafile, type OutputFile } from 'esbuild';

/**
 * Builds `dist/`: the files that the API serves at `/assets/`, each with a hash in its name and compressed twice, and `manifest.json`, which the API
 * reads. `node build.ts` prints the sizes. Existing files are replaced one by one and the manifest last, so that a running API never reads half a build.
 */
const folder = import.meta.dirname;
const source = (path: string) => join(folder, 'src', path);
const DIST = join(folder, 'dist');
const PREFIX = '/assets/';

/** Programs of web workers. The page knows the URL of each by the constant with its name. */
const WORKERS: Readonly<Record<string, string>> = { CHECK_WORKER: source('check/worker.ts') };

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ttf': 'font/ttf',
};

/** The content of `manifest.json`. All paths are paths of URLs. */
export interface Manifest {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly font: string;
  /** The picture of link previews, 1200 × 630 pixels. */
  readonly card: string;
  /** Scripts that `script` imports, directly or not, so that the browser loads them at once. */
  readonly imports: readonly string[];
  /** The scripts of each page besides `script` and `imports`, by the source file of the page, such as `home/home-page.tsx`. */
  readonly pages: Readonly<Record<string, readonly string[]>>;
  /** Content type of each file. */
  readonly files: Readonly<Record<string, string>>;
}

/** The size of a built file, bytes. */
export interface BuiltSize {
  readonly path: string;
  readonly bytes: number;
  readonly gzip: number;
  readonly brotli: number;
}

const OPTIONS = {
  ...{ bundle: true, format: 'esm', platform: 'browser', target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'], minify: true, write: false },
  ...{ metafile: true, absWorkingDir: folder, outdir: DIST, publicPath: PREFIX, logLevel: 'warning', legalComments: 'none', charset: 'utf8' },
  ...{ entryNames: '[name]-[hash]', chunkNames: '[name]-[hash]', assetNames: '[name]-[hash]' },
  ...{ jsx: 'automatic', jsxImportSource: 'preact', loader: { '.ttf': 'file', '.svg': 'copy', '.png': 'copy' } },
} as const satisfies BuildOptions;

/**
 * Builds the page and writes it to `dist/`.
 * @returns the manifest, the size of each file, and the source files as paths from this folder
 */
export async function buildWeb(): Promise<{ manifest: Manifest; sizes: BuiltSize[]; sources: string[] }> {
  const workers = await buildWorkers();
  const entryPoints = [source('main.tsx'), source('styles/main.css'), source('icon.svg'), source('card.png')];
  const { metafile, outputFiles } = await build({ ...OPTIONS, entryPoints, splitting: true, define: workers.define });
  const outputs = [...outputFiles, ...workers.files];
  const manifest = manifestOf(metafile, outputs);
  mkdirSync(DIST, { recursive: true });
  const sizes = await Promise.all(outputs.map(writeCompressed));
  const text = JSON.stringify(manifest, null, 2);
  const known = new Set(outputs.flatMap(({ path }) => ['', '.gz', '.br'].map((end) => basename(path) + end)));
  replaceFile(join(DIST, 'manifest.json'), text);
  for (const name of readdirSync(DIST)) {
    if (name !== 'manifest.json' && !known.has(name) && !name.endsWith('.new')) rmSync(join(DIST, name), { force: true });
  }
  return { manifest, sizes, sources: [...new Set([...Object.keys(metafile.inputs), ...workers.sources])] };
}

/** Builds the programs of the web workers. Each is one file, because Firefox runs modules in workers only since version 114. */
async function buildWorkers(): Promise<{ define: Record<string, string>; files: OutputFile[]; sources: string[] }> {
  const define: Record<string, string> = {};
  const files: OutputFile[] = [];
  const sources: string[] = [];
  for (const [name, entry] of Object.entries(WORKERS)) {
    if (!existsSync(entry)) continue;
    const { metafile, outputFiles } = await build({ ...OPTIONS, entryPoints: [entry] });
    sources.push(...Object.keys(metafile.inputs));
    files.push(...outputFiles);
    define[name] = JSON.stringify(urlOf(outputFiles[0]?.path ?? ''));
  }
  return { define, files, sources };
}

const urlOf = (path: string): string => PREFIX + basename(path);

function manifestOf({ outputs }: Metafile, files: readonly OutputFile[]): Manifest {
  const made = Object.keys(outputs).map((path) => ({ path, name: basename(path), entry: relative('src', outputs[path]?.entryPoint ?? '') }));
  const find = (test: (one: (typeof made)[number]) => boolean) => made.find(test)?.path ?? '';
  const script = find(({ entry }) => entry === 'main.tsx');
  const closureOf = (path: string, known = new Set<string>()): Set<string> => {
    known.add(path);
    for (const { kind, path: to } of outputs[path]?.imports ?? []) if (kind === 'import-statement' && !known.has(to)) closureOf(to, known);
    return known;
  };
  const always = closureOf(script);
  const lazy = made.filter(({ entry }) => entry.endsWith('-page.tsx'));
  return {
    script: urlOf(script),
    style: urlOf(find(({ entry, name }) => entry === 'styles/main.css' && name.endsWith('.css'))),
    icon: urlOf(find(({ name }) => name.startsWith('icon-') && name.endsWith('.svg'))),
    font: urlOf(find(({ name }) => name.endsWith('.ttf'))),
    card: urlOf(find(({ name }) => name.startsWith('card-') && name.endsWith('.png'))),
    imports: [...always].filter((path) => path !== script).map(urlOf),
    pages: Object.fromEntries(lazy.map(({ path, entry }) => [entry, [...closureOf(path)].filter((one) => !always.has(one)).map(urlOf)])),
    files: Object.fromEntries(files.map(({ path }) => [urlOf(path), TYPES[extname(path)] ?? 'application/octet-stream'])),
  };
}

async function writeCompressed({ path, contents }: OutputFile): Promise<BuiltSize> {
  const [zipped, brotli] = await Promise.all([
    promisify(gzip)(contents, { level: 9 }),
    promisify(brotliCompress)(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  ]);
  for (const [end, bytes] of [
    ['', contents],
    ['.gz', zipped],
    ['.br', brotli],
  ] as const) {
    replaceFile(join(DIST, basename(path)) + end, bytes);
  }
  return { path: urlOf(path), bytes: contents.length, gzip: zipped.length, brotli: brotli.length };
}

/** Writes a file under another name and renames it, so that no reader sees a part of the file. */
function replaceFile(path: string, content: Uint8Array | string): void {
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, content);
  renameSync(temporary, path);
}

/** Returns the files that a browser loads for the home page. */
export const firstLoadOf = ({ script, style, font, icon, imports, pages }: Manifest): string[] => [
  ...[script, style, font, icon, ...imports],
  ...(pages['home/home-page.tsx'] ?? []),
];

if (import.meta.main) {
  const { manifest, sizes } = await buildWeb();
  const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} KB`.padStart(9);
  const first = new Set(firstLoadOf(manifest));
  const lines = sizes
    .toSorted((a, b) => b.gzip - a.gzip)
    .map(({ path, bytes, gzip, brotli }) => `${kilobytes(bytes)} ${kilobytes(gzip)} ${kilobytes(brotli)}  ${first.has(path) ? '*' : ' '} ${path}`);
  const total = sizes.filter(({ path }) => first.has(path)).reduce((sum, { gzip }) => sum + gzip, 0);
  if (!process.argv.includes('--quiet'))
    process.stdout.write(
      `    bytes      gzip    brotli\n${lines.join('\n')}\n\nFirst load (*): ${kilobytes(total).trim()} with gzip, without HTML\n`,
    );
}
