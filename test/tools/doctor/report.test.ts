import { expect, test } from '@jest/globals';
import type { State } from '#doctor/check.ts';
import type { Result } from '#doctor/examine.ts';
import { exitStatus, jsonOf, textOf } from '#tools/doctor/report.ts';

const finding = (state: State, remedy: string | null = null): Result => ({ check: 'redis', state, what: `it is ${state}`, remedy });

test.each<[string, readonly State[], number, number]>([
  ['nothing is wrong', ['ok', 'off'], 0, 0],
  ['there are warnings', ['ok', 'warning'], 0, 1],
  ['something is wrong', ['warning', 'wrong'], 1, 1],
])('when %s, the exit status follows the findings, and --strict counts warnings', (_case, states, status, strict) => {
  const results = states.map((state) => finding(state));
  expect([exitStatus(results, false), exitStatus(results, true)]).toEqual([status, strict]);
  expect(jsonOf(results, 'api', true)).toMatchObject({ ok: strict === 0, process: 'api', findings: results });
});

test('the report has one line per finding, the remedy below it, and the sums', () => {
  expect(textOf([finding('ok'), finding('wrong', 'Start Redis.')], 'worker')).toBe(
    [
      'ok       redis         it is ok',
      'wrong    redis         it is wrong',
      '                       → Start Redis.',
      'worker: 1 wrong, 0 warnings, 1 right, 0 not used\n',
    ].join('\n'),
  );
});
