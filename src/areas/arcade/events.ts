import { z } from 'zod';
import { Count, Instant, Points, Slug } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';
import { ScoreRank, ScoreReceipt } from './scores/schemas.ts';

/** A wallet's address. Checks only the length, because the request that caused the event has validated the address. */
const Address = z.string().min(1).max(64);
const Key = z.string().min(1).max(64);

/** Maximum items in one outbox row, and maximum characters of a recorded score in it. */
const MAX_ITEMS = 500;
const MAX_LINE = 2_000;

/** A wallet's line on the all-time board of a game changed. `score`: the value on the board, 0–10,000; null when the wallet left the board. */
const BoardChange = z.strictObject({ wallet: Address, gameId: Key, score: Count.nullable() });
export type BoardChange = z.infer<typeof BoardChange>;

/** A board change with the rank of the wallet after the change; null when the wallet left the board, or while the board is being rebuilt. */
export const RankedChange = BoardChange.extend({ rank: Count.nullable() });

export const scoreUpdate = event({
  type: 'score_update',
  category: 'gameplay',
  summary:
    'All-time boards of games changed, by a new best score, a decision, a void, a restored score or a ban. Sent at most 20 times a second, with the latest change of each wallet and game, at most 100. `score` and `rank` are null when the wallet left the board. Ranks are those after the change; overtaken wallets are not listed, so order the board by score. `more` lists the games with further changes: read their boards again.',
  payload: z.strictObject({ updates: z.array(RankedChange).max(100), more: z.array(Key).optional() }),
});

/** An outbox row of `score_update`: the changes of one transaction. The publisher adds the ranks and joins the rows of one tick. */
export const boardChanges = event({ ...scoreUpdate, payload: z.strictObject({ changes: z.array(BoardChange).min(1).max(MAX_ITEMS) }) });

export const scoreRecorded = event({
  type: 'score_recorded',
  category: 'gameplay',
  summary:
    'A score was recorded: accepted or held. Has the fields of the response to `POST /arcade/score`. Sent once per score, only to the wallet that submitted it. `rank` is null while the ranks cannot be read.',
  payload: z.strictObject({ gameId: Key, ...ScoreReceipt.shape, rank: ScoreRank.nullable() }),
});

/**
 * An outbox row of `score_recorded`: the scores of one transaction, each as `recordedLine` writes it. The publisher adds the ranks and sends each score to
 * its wallet.
 */
export const recordedScores = event({
  ...scoreRecorded,
  payload: z.strictObject({ scores: z.array(z.string().max(MAX_LINE)).min(1).max(MAX_ITEMS) }),
});

/** A recorded score of an outbox row. */
export interface RecordedScore {
  readonly wallet: string;
  readonly gameId: string;
  readonly scoreId: string;
  /** The receipt without the rank, as the members of a JSON object, without its braces. */
  readonly receipt: string;
}

/** The receipt of a score without the rank, which the publisher adds. */
type UnrankedReceipt = Omit<ScoreReceipt, 'rank'>;

/**
 * Writes a recorded score as one line. The publisher passes the receipt on as text, because parsing and validating each receipt took a tenth of the CPU time
 * of a score.
 */
export const recordedLine = (wallet: string, gameId: string, receipt: UnrankedReceipt): string =>
  `${wallet} ${gameId} ${receipt.scoreId} ${JSON.stringify(receipt).slice(1, -1)}`;

const LINE = /^(\S+) (\S+) (\S+) (.+)$/;

/**
 * Reads a line of `recordedLine`.
 * @throws when the line is malformed
 */
export function readRecordedLine(line: string): RecordedScore {
  const [, wallet, gameId, scoreId, receipt] = LINE.exec(line) ?? [];
  if (!wallet || !gameId || !scoreId || !receipt) throw new Error('a recorded score must be a line of four parts');
  return { wallet, gameId, scoreId, receipt };
}

export const scoreHeld = event({
  type: 'score_held',
  category: 'gameplay',
  summary: 'A score is held for a moderator’s decision. Sent only to the wallet that submitted it.',
  payload: z.strictObject({ scoreId: Key, gameId: Key, reasons: z.array(z.string()) }),
});

export const scoreDecided = event({
  type: 'score_decided',
  category: 'gameplay',
  summary:
    'A held score was accepted or rejected, an accepted score was voided, or a voided score was restored. Sent only to the wallet that submitted it.',
  payload: z.strictObject({
    scoreId: Key,
    gameId: Key,
    decision: z.enum(['accepted', 'rejected', 'voided', 'restored']),
    /** Points that this decision gave to the wallet. Negative when the decision took points back. */
    pointsAwarded: Points,
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
  payload: z.strictObject({ id: Key, name: z.string(), startsAt: Instant, endsAt: Instant, payload: z.unknown().optional() }),
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
export const arcadeEvents = [
  scoreUpdate,
  scoreRecorded,
  scoreHeld,
  scoreDecided,
  gameState,
  arcadeEvent,
  themeChanged,
  cabinetPossessed,
  cabinetReleased,
];
