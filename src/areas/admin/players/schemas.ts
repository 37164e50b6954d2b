import { z } from 'zod';
import { PaymentView } from '#areas/payouts';
import { PointsBreakdown } from '#areas/profile';
import { Count, Id, Instant, RawScore, Wallet } from '#lib/scalars.ts';
import { LedgerEntryView } from '../ledger/schemas.ts';

export const PlayerPath = z.object({ wallet: Wallet });
const Mode = z.enum(['regular', 'beta']);

export const PlayerScore = z
  .strictObject({
    scoreId: Id,
    gameId: z.string().meta({ example: 'star-raiders' }),
    status: z.enum(['accepted', 'held', 'rejected', 'voided']),
    score: RawScore,
    normalizedScore: Count,
    pointsAwarded: Count.meta({ description: 'Points that the score gives in its present state.' }),
    mode: Mode,
    at: Instant,
  })
  .meta({ id: 'PlayerScore' });
export const PlayerQuest = z
  .strictObject({
    questId: z.string().meta({ example: 'three-times-among-the-stars' }),
    window: z.string().meta({ example: 'once' }),
    mode: Mode,
    points: Count.meta({ description: 'Points of the completion; 0 when they were revoked.', example: 125 }),
    by: z.string().nullable().meta({ description: 'Admin token that recorded the completion; null when the service did.', example: null }),
    at: Instant,
  })
  .meta({ id: 'PlayerQuest' });
export const PlayerEntry = z
  .strictObject({ roundId: Id, entryId: Id, numbers: z.array(z.int().min(0)).meta({ example: [3, 7, 12, 30, 41] }), at: Instant })
  .meta({ id: 'PlayerEntry' });
export const PlayerTicket = z
  .strictObject({
    ticketId: Id,
    roundId: Id,
    status: z.enum(['checking', 'confirmed', 'refused']),
    reason: z.string().nullable().meta({ description: 'Reason of the refusal.', example: null }),
    at: Instant,
  })
  .meta({ id: 'PlayerTicket' });
export const NoteView = z
  .strictObject({
    id: Id,
    text: z.string().meta({ example: 'asked for help with a lost score' }),
    by: z.string().meta({ description: 'Name of the admin token.', example: 'admin-1' }),
    at: Instant,
  })
  .meta({ id: 'WalletNote' });

const MAX_NOTE = 2_000;
export const NoteRequest = z
  .strictObject({
    text: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(MAX_NOTE)
      .refine((text) => text.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(text), 'must not contain control characters'),
  })
  .meta({ id: 'WalletNoteRequest', example: { text: 'asked for help with a lost score' } });

const list = z
  .string()
  .meta({ description: 'Path of the whole list.', example: '/admin/wallets/9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin/notes' });
const total = Count.meta({ description: 'Number of all rows of the list.', example: 1 });
/** The newest rows of a list. */
const section = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ total, newest: z.array(row).max(10).meta({ description: 'At most 10 rows, newest first.' }), list });

export const PlayerView = z
  .strictObject({
    wallet: Wallet,
    memberSince: Instant.meta({ description: 'Time of the first sign-in.' }),
    mode: Mode.meta({ description: 'Mode in which the wallet earns new points.' }),
    points: PointsBreakdown.pick({ regular: true, beta: true }).meta({ description: 'Points by source, period and game.' }),
    linkedAccounts: z.array(
      z.strictObject({ platform: z.string().meta({ example: 'x' }), handle: z.string().meta({ example: 'coinop' }), linkedAt: Instant }),
    ),
    sanctions: z
      .array(
        z.strictObject({
          type: z.enum(['ban', 'chat-ban', 'chat-mute']).meta({ description: 'ban: from the arcade.', example: 'chat-mute' }),
          since: Instant,
          until: Instant.nullable().meta({ description: 'End of a mute; null without an end.' }),
          reason: z.string().nullable().meta({ description: 'Reason of a ban from the arcade.', example: null }),
          by: z
            .string()
            .nullable()
            .meta({ description: 'Admin token that decided about the chat; null for a ban from the arcade.', example: 'admin-1' }),
        }),
      )
      .meta({ description: 'Sanctions in force. A sanction of a linked account in a bridged chat is not listed.' }),
    scores: section(PlayerScore),
    ledger: section(LedgerEntryView),
    quests: section(PlayerQuest),
    entries: section(PlayerEntry),
    tickets: section(PlayerTicket),
    payments: section(PaymentView),
    notes: section(NoteView),
  })
  .meta({ id: 'Player' });
