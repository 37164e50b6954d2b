import { z } from 'zod';
import { Count, line, Slug } from '#lib/scalars.ts';
import { type EventType, event } from '#platform/events/event.ts';
import { battleEvents } from './battles/events.ts';
import { burnEvents } from './burns/events.ts';
import { roundEvents } from './lottery/events.ts';
import { questEvents } from './quests/events.ts';

/** Every event of the service. To add one: declare it here, list it in `catalogue`, emit it in the transaction it reports. */

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

export const notification = event({
  type: 'notification',
  category: 'system',
  summary: 'A message for people: to everybody, or to one wallet.',
  payload: z.strictObject({ level: z.enum(['info', 'warning']).default('info'), text: line(500), link: z.string().max(500).optional() }),
});

/** Token amounts: base units as text. */
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);

export const epochComputed = event({
  type: 'epoch_computed',
  category: 'rewards',
  summary: 'An epoch’s leaves are fixed; with a root, it goes on the chain next. Without leaves it is empty.',
  payload: z.strictObject({
    epoch: Count,
    status: z.enum(['computed', 'empty']),
    leaves: Count,
    total: Amount,
    undistributed: Amount,
    root: z.hex().nullable(),
  }),
});

export const epochCommitted = event({
  type: 'epoch_committed',
  category: 'rewards',
  summary: 'An epoch’s root is on the chain, finally, and funded: its rewards can be claimed until it expires.',
  payload: z.strictObject({
    epoch: Count,
    root: z.hex(),
    total: Amount,
    leaves: Count,
    signature: Signature.nullable(),
    expiresAt: z.iso.datetime(),
  }),
});

export const epochSettled = event({
  type: 'epoch_settled',
  category: 'rewards',
  summary: 'What was not claimed of an epoch is settled off-chain; it cannot be claimed any more.',
  payload: z.strictObject({ epoch: Count, claimed: Amount, total: Amount }),
});

export const claimSubmitted = event({
  type: 'claim_submitted',
  category: 'rewards',
  summary: 'A claim is on its way to the chain. To its wallet only.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount }),
});

export const claimConfirmed = event({
  type: 'claim_confirmed',
  category: 'rewards',
  summary: 'A reward was claimed, by whoever’s transaction: the cluster has confirmed it, or (`final`) it cannot vanish any more.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, amount: Amount, signature: Signature.nullable(), final: z.boolean() }),
});

export const claimFailed = event({
  type: 'claim_failed',
  category: 'rewards',
  summary: 'A claim could not be done; the reward can still be claimed. To its wallet only.',
  payload: z.strictObject({ claimId: Key, epoch: Count, wallet: Address, reason: z.string() }),
});

export const payoutConfirmed = event({
  type: 'payout_confirmed',
  category: 'rewards',
  summary: 'A payment has arrived, finally. To its wallet only.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, signature: Signature.nullable() }),
});

export const payoutFailed = event({
  type: 'payout_failed',
  category: 'rewards',
  summary: 'A payment could not be made as it is, and is looked into; it stays owed. To its wallet only.',
  payload: z.strictObject({ paymentId: Key, wallet: Address, currency: Key, amount: Amount, reason: z.string() }),
});

/** All of them, by their type on the wire. */
export const catalogue: ReadonlyMap<string, EventType> = new Map(
  [
    scoreUpdate,
    scoreHeld,
    scoreDecided,
    gameState,
    arcadeEvent,
    themeChanged,
    cabinetPossessed,
    cabinetReleased,
    notification,
    epochComputed,
    epochCommitted,
    epochSettled,
    claimSubmitted,
    claimConfirmed,
    claimFailed,
    payoutConfirmed,
    payoutFailed,
    ...roundEvents,
    ...questEvents,
    ...battleEvents,
    ...burnEvents,
  ].map((e) => [e.type, e]),
);
