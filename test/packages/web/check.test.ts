import { expect, test } from '@jest/globals';
import type { Step } from '#packages/verify/src/index.ts';
import type { CheckResult } from '#packages/web/src/check/request.ts';
import { type Kind, wordsOf } from '#packages/web/src/check/words.ts';

const holds = (...checks: string[]): Step[] => checks.map((check) => ({ check, outcome: 'true', detail: 'it holds' }));
const result = (given: Partial<CheckResult>): CheckResult => ({
  ...{ verdict: 'true', steps: [], onTheHousesWord: [], isDevelopment: false, drawn: null },
  ...given,
});
const WHOLE: Readonly<Record<Kind, Step[]>> = {
  round: holds('program', 'entries', 'result', 'publication', 'payouts'),
  epoch: holds('leaves', 'amounts', 'root', 'points', 'account', 'memo'),
  score: holds('replay', 'simulation', 'score'),
};
const KINDS: readonly Kind[] = ['round', 'epoch', 'score'];

test.each(KINDS)('a whole check of a %s is true', (kind) => {
  expect(wordsOf(kind, result({ steps: WHOLE[kind] }))).toMatchObject({ tone: 'good', title: 'True' });
});

test.each(KINDS)('a check of a %s that ended before its result is never true, although nothing was false', (kind) => {
  for (const missing of [[], WHOLE[kind].slice(0, 1)]) expect(wordsOf(kind, result({ steps: missing })).tone).toBe('unknown');
});

test.each(KINDS)('a check of a %s with an impossible step cannot be checked', (kind) => {
  const steps: Step[] = [...WHOLE[kind], { check: 'rpc', outcome: 'unknown', detail: 'the node does not answer' }];
  expect(wordsOf(kind, result({ verdict: 'cannot be checked', steps }))).toMatchObject({ tone: 'unknown', title: 'Cannot be checked' });
});

test.each(KINDS)('a check of a %s with a lie is false', (kind) => {
  expect(wordsOf(kind, result({ verdict: 'false', steps: WHOLE[kind] }))).toMatchObject({ tone: 'bad', title: 'False' });
});

test('a round under development rules is never true, and says when a prize is not paid', () => {
  expect(wordsOf('round', result({ steps: WHOLE.round, isDevelopment: true }))).toMatchObject({
    tone: 'warm',
    text: expect.stringContaining('protect nobody'),
  });
  const late = wordsOf('round', result({ verdict: 'late or unpaid', steps: WHOLE.round, isDevelopment: true }));
  expect(late).toMatchObject({ tone: 'warm', text: expect.stringContaining('not paid') });
});

test('a void round is true without a result', () => {
  expect(wordsOf('round', result({ steps: holds('program', 'void') }))).toMatchObject({ tone: 'good', title: 'True: the round is void' });
});

test('an epoch that is not on the chain is not called true', () => {
  const words = wordsOf('epoch', result({ steps: holds('leaves', 'amounts', 'root', 'points', 'status') }));
  expect(words).toMatchObject({ tone: 'warm', title: 'Computed, but not on the chain' });
});

test('an epoch that an operator imported is not called computed from points', () => {
  const words = wordsOf('epoch', result({ steps: holds('leaves', 'amounts', 'root', 'account', 'memo') }));
  expect(words).toMatchObject({ tone: 'warm', title: 'Imported, not computed from points' });
});

test.each([false, true])('a round without a commitment, although it was due, is not true (development rules: %s)', (isDevelopment) => {
  const steps: Step[] = [...holds('program', 'entries'), { check: 'commitment', outcome: 'late', detail: 'the round is not committed' }];
  const words = wordsOf('round', result({ verdict: 'late or unpaid', steps, isDevelopment }));
  expect(words).toMatchObject({ tone: 'warm', title: 'Late, without a result' });
});

test('a round whose prize is not paid is true, but late or unpaid', () => {
  const steps: Step[] = [...holds('entries', 'result'), { check: 'payouts', outcome: 'late', detail: 'not paid' }];
  expect(wordsOf('round', result({ verdict: 'late or unpaid', steps }))).toMatchObject({ tone: 'warm', title: 'True, but late or unpaid' });
});
