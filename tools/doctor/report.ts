import type { ProcessType } from '#doctor/check.ts';
import { countStates, type Result } from '#doctor/examine.ts';

/** Returns 0 when nothing is wrong, otherwise 1. With `strict`, warnings count as wrong. */
export function exitStatus(results: readonly Result[], strict: boolean): 0 | 1 {
  const { wrong, warning } = countStates(results);
  return wrong > 0 || (strict && warning > 0) ? 1 : 0;
}

/** Returns the report for people: one line per finding, and the remedy below it. */
export function textOf(results: readonly Result[], process: ProcessType): string {
  const { ok, off, warning, wrong } = countStates(results);
  const lines = results.flatMap(({ state, check, what, remedy }) => {
    const head = `${state.padEnd(8)} ${check.padEnd(13)} ${what}`;
    return remedy === null ? [head] : [head, `${' '.repeat(23)}→ ${remedy}`];
  });
  const sum = `${process === 'api' ? 'API process' : 'worker'}: ${wrong} wrong, ${warning} warnings, ${ok} right, ${off} not used`;
  return `${[...lines, sum].join('\n')}\n`;
}

/** Returns the report for programs. */
export const jsonOf = (results: readonly Result[], process: ProcessType, strict: boolean) => ({
  ok: exitStatus(results, strict) === 0,
  process,
  counts: countStates(results),
  findings: results,
});
