import { expect, test } from '@jest/globals';
import type { Game } from '#areas/arcade/games/definition.ts';
import { DEFAULT_REVIEW, type ReviewRules } from '#areas/arcade/games/review-rules.ts';
import { countOverlap, type ReviewedScore, reviewScore } from '#areas/arcade/scores/review.ts';
import { DecisionRequest, RestoreRequest, VoidRequest } from '#areas/arcade/scores/schemas.ts';
import type { Player } from '#areas/points';

const OFF: ReviewRules = { ...DEFAULT_REVIEW, perfectFrom: null, repeatedScores: null, overlapSec: null, newcomerScores: null };
const GAME: Game = {
  id: 'a-game',
  version: 1,
  secret: null,
  name: 'A game',
  category: 'test',
  normalization: { method: 'linear', min: 0, max: 10_000, direction: 'higher' },
  pointsPer10000: 100,
  caps: { dailyPoints: 1_000, minDurationMs: 0, maxDurationMs: 60_000 },
  verification: 'play',
  maxLivePlays: 1,
  review: OFF,
};
const SCORE: ReviewedScore = { score: 5_000, normalized: 5_000, equalScores: 0, accepted: 100, overlapMs: 0, top: null, isPublic: true };

/** Returns whether a game with only the given rules holds a score. */
const isHeld = (rules: Partial<ReviewRules>, score: Partial<ReviewedScore> = {}, game: Partial<Game> = {}) =>
  reviewScore({ ...GAME, ...game, review: { ...OFF, ...rules } }, { ...SCORE, ...score }).length > 0;

test('a score is held from the limit of perfect scores on', () => {
  expect([5_001, 5_000, 4_999, null].map((perfectFrom) => isHeld({ perfectFrom }))).toEqual([false, true, true, false]);
});

test('the score that reaches the limit of equal scores is held', () => {
  expect([2, 3, 4].map((equalScores) => isHeld({ repeatedScores: 4 }, { equalScores }))).toEqual([false, true, true]);
  expect(isHeld({ repeatedScores: null }, { equalScores: 100 })).toBe(false);
});

test('equal scores are not held at the lowest score, or in a game with fewer than 1,000 possible scores', () => {
  const repeated = { equalScores: 100 };
  expect([0, 1].map((normalized) => isHeld({ repeatedScores: 4 }, { ...repeated, normalized }))).toEqual([false, true]);
  const upTo = (max: number) => ({ normalization: { ...GAME.normalization, min: 10, max } });
  expect([1_009, 1_010].map((max) => isHeld({ repeatedScores: 4 }, repeated, upTo(max)))).toEqual([false, true]);
  expect(isHeld({ repeatedScores: 4 }, { ...repeated, normalized: 0 }, upTo(1_009))).toBe(false);
});

test('a score is held if the plays of the wallet overlap by more than the limit', () => {
  expect([600_000, 600_001].map((overlapMs) => isHeld({ overlapSec: 600 }, { overlapMs }))).toEqual([false, true]);
});

test('a public score of a newcomer is held if it reaches the last place of a full top ten', () => {
  const newcomer = { accepted: 4, top: 5_000 };
  expect([4_999, 5_000, 5_001].map((normalized) => isHeld({ newcomerScores: 5 }, { ...newcomer, normalized }))).toEqual([false, true, true]);
  expect(isHeld({ newcomerScores: 5 }, { ...newcomer, accepted: 5 })).toBe(false);
  expect(isHeld({ newcomerScores: 5 }, { ...newcomer, top: null })).toBe(false);
  expect(isHeld({ newcomerScores: 5 }, { ...newcomer, isPublic: false })).toBe(false);
  expect(isHeld({ newcomerScores: 5 }, newcomer, { rewards: false })).toBe(false);
});

test('the overlap of plays grows by the part of a play that is longer than the time since the last score, and time without plays reduces it', () => {
  const player: Player = {
    ...{ wallet: 'a wallet', mode: 'regular', banned: false, earnedDay: 0, earned: 0, earnedByGame: {}, tally: {} },
    ...{ lastScoreAt: null, overlapMs: 0 },
  };
  const overlapAfter = (durationMs: number, endedAt: number) => {
    countOverlap(player, durationMs, new Date(endedAt));
    return [player.overlapMs, player.lastScoreAt];
  };
  expect(overlapAfter(60_000, 100_000)).toEqual([0, 100_000]);
  expect(overlapAfter(60_000, 110_000)).toEqual([50_000, 110_000]);
  // A score that was submitted earlier, but is recorded later.
  expect(overlapAfter(5_000, 105_000)).toEqual([55_000, 110_000]);
  expect(overlapAfter(10_000, 130_000)).toEqual([45_000, 130_000]);
  expect(overlapAfter(10_000, 200_000)).toEqual([0, 200_000]);
});

test('the reason of a decision, a restoration or a void has at most 200 characters', () => {
  const isValid = (length: number) => {
    const reason = 'x'.repeat(length);
    return [DecisionRequest.safeParse({ decision: 'accept', reason }), RestoreRequest.safeParse({ reason }), VoidRequest.safeParse({ reason })].map(
      ({ success }) => success,
    );
  };
  expect([200, 201].map(isValid)).toEqual([
    [true, true, true],
    [false, false, false],
  ]);
});
