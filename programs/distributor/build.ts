/**
 * Builds the program with clang 19: `node programs/distributor/build.ts` writes distributor.so, and distributor.so.json, which ties it to
 * its sources. The same sources and compiler give the same bytes. With a folder as argument, each C file in it becomes a program.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { link } from './link.ts';

const COMPILER = 'clang-19';
const SOURCES = join(import.meta.dirname, 'src');

/** The committed program, and the C file it is made of. */
export const PROGRAM = join(import.meta.dirname, 'distributor.so');
export const PROGRAM_SOURCE = join(SOURCES, 'distributor.c');

/**
 * BPF as of `v2`: of what came later, SBPF means some differently (see link.ts). No builtins: there is no library to call. Frames of
 * 4,096 bytes are what the runtime gives each function.
 */
const FLAGS = [
  ...['-target', 'bpf', '-mcpu=v2', '-Oz', '-std=c17', '-ffreestanding', '-fno-builtin', '-fno-strict-aliasing', '-fno-jump-tables'],
  ...['-Wall', '-Wextra', '-Werror', '-Wconversion', '-Wno-sign-conversion', '-mllvm', '-bpf-stack-size=4096'],
];

/** What a program was built with and of. Hashes are SHA-256 in hex. */
export interface BuildRecord {
  readonly compiler: string;
  readonly program: string;
  /** The C file, all headers, and what builds them. */
  readonly sources: Readonly<Record<string, string>>;
}

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** The first line of `clang-19 --version`, or null where there is none. */
export function compilerVersion(): string | null {
  try {
    return execFileSync(COMPILER, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split('\n')[0] ?? null;
  } catch {
    return null;
  }
}

/** A C file, with the headers it includes, as a program. */
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

/** The record of a program, with the sources as they are now. */
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
  if (compiler === null) throw new Error(`needs ${COMPILER} (Debian and Ubuntu: apt-get install ${COMPILER})`);
  if (folder === undefined) {
    build(PROGRAM_SOURCE, PROGRAM, compiler);
    return;
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.c'))) {
    build(join(folder, file), join(folder, `${basename(file, '.c')}.so`), compiler);
  }
}

if (import.meta.main) main(process.argv[2]);
