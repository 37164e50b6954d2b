import { z } from 'zod';
import { Count, Slug } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

/** Ids were checked where they came in; base58 is not decoded again for each of the hundreds of updates of a batch. */
const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);

/** One accepted score. `score` is the normalized one, 0–10,000. */
export const ScoreUpdate = z.strictObject({
  wallet: Address,
  gameId: Key,
  score: Count,
  scoreId: Key,
  pointsAwarded: Count,
  personalBest: z.boolean(),
});
export type ScoreUpdate = z.infer<typeof ScoreUpdate>;

/** One accepted score as everybody sees it, with the wallet's all-time rank in the game; null while the board is being rebuilt. */
export const RankedScore = z.strictObject({ wallet: Address, gameId: Key, score: Count, rank: Count.nullable() });
export type RankedScore = z.infer<typeof RankedScore>;

/** Emitted once per committed batch, without a wallet: the publisher makes the broadcast and the wallets' own updates of it. */
export const scoreUpdate = event({
  type: 'score_update',
  category: 'gameplay',
  summary:
    'Scores were accepted. Broadcast at most 20 times a second as { wallet, gameId, score, rank }; a wallet’s own streams get each of its own in full.',
  payload: z.strictObject({ updates: z.array(ScoreUpdate).min(1).max(500) }),
});

export const scoreHeld = event({
  type: 'score_held',
  category: 'gameplay',
  summary: 'A score waits for a decision. To its wallet only.',
  payload: z.strictObject({ scoreId: Key, gameId: Key, reasons: z.array(z.string()) }),
});

export const scoreDecided = event({
  type: 'score_decided',
  category: 'gameplay',
  summary: 'A held score was accepted or rejected, or an accepted one was voided. To its wallet only.',
  payload: z.strictObject({
    scoreId: Key,
    gameId: Key,
    decision: z.enum(['accepted', 'rejected', 'voided']),
    /** Points that the decision gave (or, negative, took back). */
    pointsAwarded: Count,
    reason: z.string().optional(),
  }),
});

export const gameState = event({
  type: 'game_state',
  category: 'gameplay',
  summary: 'A game’s saved state changed; read it anew. To its wallet only.',
  payload: z.strictObject({ gameId: Key, version: Count }),
});

export const arcadeEvent = event({
  type: 'arcade_event',
  category: 'system',
  summary: 'A one-time event of the arcade: an animation, an announcement.',
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

/** Every event of this area. */
export const arcadeEvents = [scoreUpdate, scoreHeld, scoreDecided, gameState, arcadeEvent, themeChanged, cabinetPossessed, cabinetReleased];
