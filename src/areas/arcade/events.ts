import { z } from 'zod';
import { Count, Slug } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

/** A wallet's address. Checks only the length, because the request that caused the event has validated the address. */
const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);

/** One accepted score. `score` is the normalized score, 0–10,000. */
export const ScoreUpdate = z.strictObject({
  wallet: Address,
  gameId: Key,
  score: Count,
  scoreId: Key,
  pointsAwarded: Count,
  personalBest: z.boolean(),
});
export type ScoreUpdate = z.infer<typeof ScoreUpdate>;

/** One accepted score in the public broadcast. `rank`: the wallet's all-time rank in the game; null while the game's board is being rebuilt. */
export const RankedScore = z.strictObject({ wallet: Address, gameId: Key, score: Count, rank: Count.nullable() });
export type RankedScore = z.infer<typeof RankedScore>;

/**
 * Emitted once per committed batch of scores, addressed to no wallet. The publisher (workers/publish-events.ts) derives the public broadcast and the
 * messages to each wallet from this event.
 */
export const scoreUpdate = event({
  type: 'score_update',
  category: 'gameplay',
  summary:
    'Scores were accepted. All clients get the best of them at most 20 times a second, as { wallet, gameId, score, rank }. The streams of a wallet also get each of its own scores with all fields.',
  payload: z.strictObject({ updates: z.array(ScoreUpdate).min(1).max(500) }),
});

export const scoreHeld = event({
  type: 'score_held',
  category: 'gameplay',
  summary: 'A score is held for a moderator’s decision. Sent only to the wallet that submitted it.',
  payload: z.strictObject({ scoreId: Key, gameId: Key, reasons: z.array(z.string()) }),
});

export const scoreDecided = event({
  type: 'score_decided',
  category: 'gameplay',
  summary: 'A held score was accepted or rejected, or an accepted score was voided. Sent only to the wallet that submitted it.',
  payload: z.strictObject({
    scoreId: Key,
    gameId: Key,
    decision: z.enum(['accepted', 'rejected', 'voided']),
    /** Points that this decision gave to the wallet. Negative when the decision took points back. */
    pointsAwarded: Count,
    reason: z.string().optional(),
  }),
});

export const gameState = event({
  type: 'game_state',
  category: 'gameplay',
  summary: 'A wallet’s saved state of a game changed. Read the new state from `/game/{id}/state`. Sent only to this wallet.',
  payload: z.strictObject({ gameId: Key, version: Count }),
});

export const arcadeEvent = event({
  type: 'arcade_event',
  category: 'system',
  summary: 'A one-time event of the arcade began, such as an animation or an announcement.',
  payload: z.strictObject({ id: Key, name: z.string(), startsAt: z.iso.datetime(), endsAt: z.iso.datetime(), payload: z.unknown().optional() }),
});

export const themeChanged = event({
  type: 'theme_changed',
  category: 'system',
  summary: 'The theme of the arcade changed.',
  payload: z.strictObject({ theme: z.looseObject({}), version: Count }),
});

export const cabinetPossessed = event({
  type: 'cabinet_possessed',
  category: 'system',
  summary: 'An entity took control of a cabinet.',
  payload: z.strictObject({ cabinetId: Slug, gameId: Key, by: z.string() }),
});

export const cabinetReleased = event({
  type: 'cabinet_released',
  category: 'system',
  summary: 'A cabinet returned to normal operation.',
  payload: z.strictObject({ cabinetId: Slug, gameId: Key }),
});

/** Every event type of this area. */
export const arcadeEvents = [scoreUpdate, scoreHeld, scoreDecided, gameState, arcadeEvent, themeChanged, cabinetPossessed, cabinetReleased];
