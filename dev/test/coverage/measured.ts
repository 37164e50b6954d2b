import { globSync, readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FunctionCov, mergeProcessCovs, type ProcessCov, type ScriptCov } from '@bcoe/v8-coverage';
import coverage, { type CoverageMap, type CoverageMapData } from 'istanbul-lib-coverage';
import v8ToIstanbul from 'v8-to-istanbul';

/** Number of coverage files that are in memory at the same time. */
const BATCH = 20;

const SOURCES = '{src,jobs,workers,tools,dev,packages,programs}/**/*.ts';

/**
 * Reads the coverage files that Node.js wrote into a folder (NODE_V8_COVERAGE), one or more per process.
 * @returns the coverage of all source files of the checkout. A file that no process loaded counts as not covered.
 */
export async function readCoverage(folder: string, checkout: string): Promise<CoverageMap> {
  const files = globSync(SOURCES, { cwd: checkout, exclude: ['**/node_modules/**'] }).sort();
  const functionsOf = executedFunctions(folder, checkout, new Set(files));
  const map = coverage.createCoverageMap();
  for (const file of files) {
    const path = join(checkout, file);
    // Node.js replaces types by spaces, so positions in the executed text are positions in the source.
    const executed = stripTypeScriptTypes(readFileSync(path, 'utf8'));
    const converter = v8ToIstanbul(path, 0, { source: executed });
    await converter.load();
    converter.applyCoverage(functionsOf.get(file) ?? [notExecuted(executed)]);
    map.merge(withCodeOnly(converter.toIstanbul(), executed));
    converter.destroy();
  }
  return map;
}

/** Returns the executed functions of each source file, added up over all processes. */
function executedFunctions(folder: string, checkout: string, files: ReadonlySet<string>): Map<string, FunctionCov[]> {
  let merged: readonly ScriptCov[] = [];
  let pending: ProcessCov[] = [];
  const merge = () => {
    merged = mergeProcessCovs([{ result: [...merged] }, ...pending]).result;
    pending = [];
  };
  for (const name of readdirSync(folder)) {
    const { result }: ProcessCov = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    pending.push({ result: result.filter(({ url }) => files.has(fileOf(url, checkout))) });
    if (pending.length === BATCH) merge();
  }
  merge();
  return new Map(merged.map(({ url, functions }) => [fileOf(url, checkout), functions]));
}

function fileOf(url: string, checkout: string): string {
  return url.startsWith('file:') ? relative(checkout, fileURLToPath(url)) : url;
}

function notExecuted(text: string): FunctionCov {
  return { functionName: '', isBlockCoverage: true, ranges: [{ startOffset: 0, endOffset: text.length, count: 0 }] };
}

/** Drops the lines without code: blank lines, comments, types and closing brackets. Otherwise these lines would count as covered. */
function withCodeOnly(data: CoverageMapData, executed: string): CoverageMapData {
  const lines = withoutComments(executed).split('\n');
  for (const file of Object.values(data)) {
    for (const [id, { start }] of Object.entries(file.statementMap)) {
      if (/\w/.test(lines[start.line - 1] ?? '')) continue;
      delete file.statementMap[id];
      delete file.s[id];
    }
  }
  return data;
}

/** Replaces comments at the beginning of lines by spaces. */
function withoutComments(text: string): string {
  return text.replace(/^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)/gm, (comment) => comment.replace(/\S/g, ' '));
}
