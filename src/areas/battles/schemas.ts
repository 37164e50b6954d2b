import { z } from 'zod';
import { type Game, GameView, PublicCaps, publicCaps } from '#areas/arcade';
import { SCALE } from '#lib/normalization.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Id, Instant, Slug } from '#lib/scalars.ts';
import { BATTLE_STATES } from './entities.ts';
import type { Battle } from './rows.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
// Schema of an address in a response: a plain string, because the address was validated before it was stored.
const wallet = (description: string) => z.string().meta({ description, example: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' });

/** Path parameter with a battle's id. */
export const BattlePath = z.object({ id: Id.meta({ description: 'Id of the battle.', example: ID }) });

export const BattlesQuery = PageQuery.extend({ gameId: Slug.optional().meta({ description: 'Only battles of this game.' }) });

/** The request body of `POST /battle/create`. */
export const BattleTerms = z
  .strictObject({
    gameId: Slug,
    maxPlayers: z.int().min(2).max(16).default(2).meta({ description: 'Number of seats. The battle starts when all are taken.' }),
    durationSec: z.int().min(60).max(86_400).default(300).meta({ description: 'Time from start to end, seconds.' }),
  })
  .meta({ id: 'BattleTerms', example: { gameId: 'star-raiders', maxPlayers: 4, durationSec: 600 } });
export type BattleTerms = z.output<typeof BattleTerms>;

const { name, category, verification, version, normalization } = GameView.shape;
const score = z.int().min(0).max(SCALE);

export const BattleView = z
  .strictObject({
    id: Id.meta({ example: ID }),
    status: z.enum(BATTLE_STATES).meta({
      description:
        'open: wallets can join. running: scores that name the battle count. finished: it has a result, about a second after its end. expired: it did not start in time.',
      example: 'running',
    }),
    game: z.strictObject({ id: Slug, name, category, verification, version, normalization, caps: PublicCaps }).meta({
      id: 'BattleGame',
      description: 'The game with its current configuration.',
      example: {
        ...{ id: 'star-raiders', name: 'Star Raiders', category: 'shooter', verification: 'heartbeat', version: 3 },
        normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
        caps: { dailyPoints: 5_000, maxDurationMs: 1_800_000 },
      },
    }),
    maxPlayers: Count.meta({ example: 4 }),
    durationSec: Count.meta({ example: 600 }),
    createdBy: wallet('The creator, who can start the battle before all seats are taken.'),
    createdAt: Instant,
    join: z
      .strictObject({
        path: z.string().meta({ description: 'Send a POST to this path to take a seat.', example: `/battle/${ID}/join` }),
        seatsLeft: Count.meta({ example: 2 }),
        expiresAt: Instant.meta({ description: 'Time at which the battle expires if it does not start.' }),
      })
      .nullable()
      .meta({ description: 'How to join the battle; null when wallets can no longer join.' }),
    startedAt: Instant.nullable(),
    endsAt: Instant.nullable().meta({
      description:
        'End of the battle; scores that are accepted before it count. When all participants have a score, the battle ends early and this time changes. null before the start.',
    }),
    endedAt: Instant.nullable().meta({ description: 'Time at which the battle was finished or expired.' }),
    participants: z
      .array(
        z.strictObject({
          wallet: wallet('The wallet that has the seat.'),
          seat: Count.meta({ description: 'Number of the seat in the order of joining; the creator has seat 1.', example: 1 }),
          joinedAt: Instant,
          score: score
            .nullable()
            .meta({ description: 'Best normalized score that counts, normally updated within a second; null without a score.', example: 4_821 }),
          scores: Count.meta({ description: 'Number of scores that count.', example: 3 }),
          place: Count.nullable().meta({
            description: 'Place in the result; equal scores share a place. null until the battle is finished, and for a participant without a score.',
            example: 1,
          }),
        }),
      )
      .meta({ description: 'Participants, sorted by seat.' }),
    winners: z
      .array(wallet('A wallet on place 1.'))
      .meta({ description: 'Wallets on place 1. Empty until the battle is finished, and if no participant has a score.' }),
  })
  .meta({ id: 'Battle' });

/** Converts a stored battle into its response. */
export function presentBattle(battle: Battle, game: Game): z.input<typeof BattleView> {
  const { id, status, maxPlayers, durationSec, createdBy, createdAt, dueAt, due, startedAt, endedAt, participants } = battle;
  return {
    ...{ id, status, maxPlayers, durationSec, createdBy, createdAt, startedAt, endedAt },
    game: {
      ...{ id: game.id, name: game.name, category: game.category, verification: game.verification, version: game.version },
      ...{ normalization: game.normalization, caps: publicCaps(game.caps) },
    },
    join: status === 'open' && !due ? { path: `/battle/${id}/join`, seatsLeft: maxPlayers - participants.length, expiresAt: dueAt } : null,
    endsAt: startedAt === null ? null : dueAt,
    participants: participants.map((seat) => ({ ...seat })),
    winners: participants.filter(({ place }) => place === 1).map((seat) => seat.wallet),
  };
}
