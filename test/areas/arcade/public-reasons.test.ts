import { expect, test } from '@jest/globals';
import { publicReason } from '#areas/arcade/scores/public-reasons.ts';

test.each([
  ['an accepted score has no reason', { status: 'accepted', reasons: ['fine'], decided: true }, null],
  ['a held score has the reason of its rule', { status: 'held', reasons: ['the session had a gap', 'x'], decided: false }, 'the session had a gap'],
  [
    'the threshold of a rule is not shown',
    { status: 'held', reasons: ['the score is 900 per second, above the limit of 100'], decided: false },
    'a rule of the game asks a moderator to check the score',
  ],
  [
    'a held score without reasons has a general one',
    { status: 'held', reasons: [], decided: false },
    'a rule of the game asks a moderator to check the score',
  ],
  [
    'a decision has the reason of the moderator',
    { status: 'voided', reasons: ['a rule', 'a gap', 'modified client'], decided: true },
    'modified client',
  ],
  ['a decision without a reason says who decided', { status: 'rejected', reasons: [], decided: true }, 'a moderator rejected the score'],
] as const)('%s', (_name, score, reason) => expect(publicReason(score)).toBe(reason));
