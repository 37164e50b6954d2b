/**
 * Builds the program with clang 19: `node programs/distributor/build.ts` writes distributor.so and distributor.so.json, which records the
 * hashes of program and sources. The build is reproducible. With a folder as argument, each C file in the folder is built as a program.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { link } from './link.ts';

const COMPILER = 'clang-19';
const SOURCES = join(import.meta.dirname, 'src');

/** The committed program. */
export const PROGRAM = join(import.meta.dirname, 'distributor.so');
/** The C file of the program. */
export const PROGRAM_SOURCE = join(SOURCES, 'distributor.c');

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
  /** Hashes of the C file, all headers, build.ts and link.ts, by file name. */
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
    execFileSync(COMPILER, [...FLAGS, '-I', SOURCES, '-c', source, '-o', object], { stdio: ['ignore', 'inherit', 'inherit'] });
    return link(readFileSync(object));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Creates the record of a program with the hashes of the current sources. */
export function recordOf(program: Uint8Array, source: string, compiler: string): BuildRecord {
  const headers = readdirSync(SOURCES).filter((name) => name.endsWith('.h'));
  const files = [source, ...headers.map((name) => join(SOURCES, name)), ...['build.ts', 'link.ts'].map((name) => join(import.meta.dirname, name))];
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
    build(PROGRAM_SOURCE, PROGRAM, compiler);
    return;
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.c'))) {
    build(join(folder, file), join(folder, `${basename(file, '.c')}.so`), compiler);
  }
}

if (import.meta.main) main(process.argv[2]);
