import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Game } from '#areas/arcade/games/definition.ts';
import { DEFAULT_REVIEW } from '#areas/arcade/games/review-rules.ts';
import { pointsFor } from '#areas/arcade/scores/award.ts';
import { evaluateSubmission, type Play } from '#areas/arcade/scores/evaluate.ts';
import type { Submission } from '#jobs/scores.ts';

const START = new Date('2031-01-01T12:00:00.000Z');
const GAME: Game = {
  id: 'a-game',
  version: 1,
  secret: null,
  name: 'A game',
  category: 'test',
  normalization: { method: 'linear', min: 10, max: 1_000, direction: 'higher' },
  pointsPer10000: 100,
  caps: { dailyPoints: 1_000, minDurationMs: 5_000, maxDurationMs: 60_000 },
  verification: 'play',
  maxLivePlays: 1,
  review: DEFAULT_REVIEW,
};
const SUBMISSION: Submission = {
  id: 'score',
  wallet: 'a wallet',
  gameId: 'a-game',
  score: 100,
  playId: 'a play',
  durationMs: null,
  battleId: null,
  signature: null,
  replay: null,
  idempotencyKey: null,
  bodyHash: '',
  at: START.toISOString(),
};
const PLAY: Play = { id: 'a play', wallet: 'a wallet', gameId: 'a-game', mode: 'regular', startedAt: START, endedAt: null };

interface Situation {
  game?: Partial<Game>;
  caps?: Partial<Game['caps']>;
  submission?: Partial<Submission>;
  play?: Partial<Play> | null;
  heartbeats?: Parameters<typeof evaluateSubmission>[2]['heartbeats'];
  replay?: Parameters<typeof evaluateSubmission>[2]['replay'];
  /** Time from the start of the play to the submission, ms. */
  elapsedMs?: number;
}

/** Returns `accepted`, the reasons of a held score, or the error of a refused score. */
function evaluate({ game, caps, submission, play = {}, heartbeats, replay, elapsedMs = 10_000 }: Situation): string {
  const whole = { ...GAME, ...game, caps: { ...GAME.caps, ...caps } };
  const row = play === null ? undefined : { ...PLAY, ...play };
  const found = evaluateSubmission(whole, { ...SUBMISSION, ...submission }, { play: row, heartbeats, replay }, new Date(START.getTime() + elapsedMs));
  if (found.verdict === 'refused') return found.error;
  return found.verdict === 'held' ? `held: ${found.reasons.join('; ')}` : 'accepted';
}

test('a score is accepted from the minimum to the maximum of its game', () => {
  const error = 'score must be an integer from 10 to 1000 in this game';
  expect([9, 10, 1_000, 1_001].map((score) => evaluate({ submission: { score } }))).toEqual([error, 'accepted', 'accepted', error]);
});

test('a score without a play is accepted only in a game without verification', () => {
  const withoutPlay = { submission: { playId: null }, play: null };
  expect(evaluate({ ...withoutPlay, game: { verification: 'none' } })).toBe('accepted');
  for (const verification of ['play', 'heartbeat'] as const) {
    expect(evaluate({ ...withoutPlay, game: { verification } })).toBe('playId is required in this game');
  }
});

test('a score needs a play of the same wallet in the same game', () => {
  const error = 'playId must name a play that you started in this game';
  expect([null, { wallet: 'another' }, { gameId: 'another' }].map((play) => evaluate({ play }))).toEqual([error, error, error]);
  // A play that is named counts in a game without verification too.
  expect(evaluate({ game: { verification: 'none' }, play: null })).toBe(error);
});

test('a play lasts at least the minimum, and at most the maximum plus two seconds', () => {
  expect(evaluate({ elapsedMs: 4_999 })).toBe('playId must name a play that lasted longer: no play of this game ends so soon');
  expect(evaluate({ elapsedMs: 5_000 })).toBe('accepted');
  expect(evaluate({ elapsedMs: 62_000 })).toBe('accepted');
  expect(evaluate({ elapsedMs: 62_001 })).toBe('playId must name a play that began at most 60 seconds ago');
});

test('a reported duration is at least the minimum, and at most two seconds longer than the play', () => {
  const withDuration = (durationMs: number) => evaluate({ submission: { durationMs } });
  expect(withDuration(4_999)).toBe('durationMs must be longer: no play of this game ends so soon');
  expect(withDuration(5_000)).toBe('accepted');
  expect(withDuration(12_000)).toBe('accepted');
  expect(withDuration(12_001)).toBe('durationMs must not be longer than the play');
});

test('a score above the limit per second is held, and a duration below one second counts as one second', () => {
  const withRate = (scorePerSec: number, submission: Partial<Submission> = {}) => evaluate({ caps: { scorePerSec }, submission });
  expect(withRate(10)).toBe('accepted');
  expect(withRate(9.9)).toBe('held: the score per second of the play is above the limit of the game');
  // The reported duration of 5 s counts, not the 10 s of the play.
  expect(withRate(10, { durationMs: 5_000 })).toBe('held: the score per second of the play is above the limit of the game');
  const short = { caps: { minDurationMs: 0, scorePerSec: 100 }, elapsedMs: 200 };
  expect(evaluate(short)).toBe('accepted');
  expect(evaluate({ ...short, submission: { score: 101 } })).toBe('held: the score per second of the play is above the limit of the game');
});

test('a broken session refuses the score, and a doubtful session holds it together with other doubts', () => {
  const reason = 'silence';
  expect(evaluate({ heartbeats: { verdict: 'refused', reason } })).toBe('playId must name a play with an unbroken session: silence');
  expect(evaluate({ heartbeats: { verdict: 'held', reason } })).toBe('held: silence');
  expect(evaluate({ heartbeats: { verdict: 'ok' } })).toBe('accepted');
  expect(evaluate({ heartbeats: { verdict: 'held', reason }, caps: { scorePerSec: 1 } })).toBe(
    'held: silence; the score per second of the play is above the limit of the game',
  );
});

test('in a game with a secret, the signature covers play, wallet, score and duration', () => {
  const sign = (text: string) => createHmac('sha256', 'a secret').update(text).digest('hex');
  const signed = (signature: string | null, submission: Partial<Submission> = {}) =>
    evaluate({ game: { secret: 'a secret' }, submission: { durationMs: 9_000, signature, ...submission } });
  const valid = sign('v1:a play:a wallet:100:9000');
  expect(signed(valid)).toBe('accepted');
  const error = 'signature must be the hex HMAC-SHA256 of v1:{playId}:{wallet}:{score}:{durationMs} under the game’s secret';
  const others = [
    signed(null),
    signed(''),
    signed(valid.slice(2)),
    signed(`${valid}00`),
    signed(valid, { score: 101 }),
    signed(valid, { durationMs: 9_001 }),
    signed(sign('v1:a play:a wallet:100:null'), { durationMs: null }),
    signed(sign('v1:a play:another:100:9000')),
  ];
  expect(new Set(others)).toEqual(new Set([error]));
  const withoutPlay = { playId: null };
  const game = { secret: 'a secret', verification: 'none' } as const;
  const signature = sign('v1::a wallet:100:9000');
  expect(evaluate({ game, submission: { ...withoutPlay, durationMs: 9_000, signature }, play: null })).toBe('accepted');
});

test('the ticks of a replay fit into the time of the play plus two seconds', () => {
  const withTicks = (ticks: number) =>
    evaluate({
      game: { verification: 'replay' },
      submission: { replay: 'a log' },
      replay: { score: 100, ticks, ticksPerSecond: 1_000, log: Buffer.from('a log') },
    });
  expect(withTicks(12_000)).toBe('accepted');
  expect(withTicks(12_001)).toBe('replay must not have more ticks than fit into the time of the play');
});

test('points are the normalized score times the points per 10,000, rounded down', () => {
  const game = { ...GAME, pointsPer10000: 333 };
  expect([0, 30, 31, 9_999, 10_000].map((normalized) => pointsFor(game, normalized))).toEqual([0, 0, 1, 332, 333]);
});
