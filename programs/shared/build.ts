/**
 * Builds the programs with clang 19: `node programs/shared/build.ts` writes each program, and a record with the hashes of the program and its
 * sources, for example distributor.so and distributor.so.json. The build is reproducible. With a folder as argument, each C file in the folder is
 * built as a program.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { link } from './link.ts';

const COMPILER = 'clang-19';
/** Headers that all programs share. */
const SHARED = join(import.meta.dirname, 'src');

/** A program: the C file with its entry point, and the committed file. */
interface Program {
  readonly name: string;
  readonly source: string;
  readonly file: string;
}

const programOf = (name: string): Program => {
  const folder = join(import.meta.dirname, '..', name);
  return { name, source: join(folder, 'src', `${name}.c`), file: join(folder, `${name}.so`) };
};

export const PROGRAMS: readonly Program[] = [programOf('distributor'), programOf('draws')];

/**
 * BPF `v2`, because SBPF interprets some instructions of later versions differently (see link.ts). No builtins, because there is no
 * library. The runtime gives each function a stack frame of 4,096 bytes.
 */
const FLAGS = [
  ...['-target', 'bpf', '-mcpu=v2', '-Oz', '-std=c17', '-ffreestanding', '-fno-builtin', '-fno-strict-aliasing', '-fno-jump-tables'],
  ...['-Wall', '-Wextra', '-Werror', '-Wconversion', '-Wno-sign-conversion', '-mllvm', '-bpf-stack-size=4096'],
];

/** The compiler and the hashes of a build. Hashes are SHA-256 in hex. */
export interface BuildRecord {
  readonly compiler: string;
  readonly program: string;
  /** Hashes of the C file, all headers of its folder, all shared headers, build.ts and link.ts, by file name. */
  readonly sources: Readonly<Record<string, string>>;
}

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Returns the first line of `clang-19 --version`; null when the compiler is not installed. */
export function compilerVersion(): string | null {
  try {
    return execFileSync(COMPILER, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n')[0] ?? null;
  } catch {
    return null;
  }
}

/** Compiles and links a C file. @returns the program */
export function compile(source: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'sbpf-'));
  const object = join(folder, 'program.o');
  try {
    execFileSync(COMPILER, [...FLAGS, '-I', dirname(source), '-I', SHARED, '-c', source, '-o', object], { stdio: ['ignore', 'inherit', 'inherit'] });
    return link(readFileSync(object));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Creates the record of a program with the hashes of the current sources. */
export function recordOf(program: Uint8Array, source: string, compiler: string): BuildRecord {
  const headers = [dirname(source), SHARED].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.h'))
      .sort()
      .map((name) => join(folder, name)),
  );
  const files = [source, ...headers, ...['build.ts', 'link.ts'].map((name) => join(import.meta.dirname, name))];
  const sources = Object.fromEntries(files.map((file) => [basename(file), hashOf(readFileSync(file))]));
  return { compiler, program: hashOf(program), sources };
}

function build(source: string, output: string, compiler: string): void {
  const program = compile(source);
  const record = recordOf(program, source, compiler);
  writeFileSync(output, program);
  writeFileSync(`${output}.json`, `${JSON.stringify(record, null, 2)}\n`);
  process.stdout.write(`${basename(output)}: ${program.length} bytes, sha256 ${record.program}\n`);
}

function main(folder: string | undefined): void {
  const compiler = compilerVersion();
  if (compiler === null) throw new Error(`${COMPILER} is not installed (Debian and Ubuntu: apt-get install ${COMPILER})`);
  if (folder === undefined) {
    for (const { source, file } of PROGRAMS) build(source, file, compiler);
    return;
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.c'))) {
    build(join(folder, file), join(folder, `${basename(file, '.c')}.so`), compiler);
  }
}

if (import.meta.main) main(process.argv[2]);
