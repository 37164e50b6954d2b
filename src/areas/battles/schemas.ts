import { z } from 'zod';
import { type Game, GameView } from '#areas/arcade';
import { SCALE } from '#lib/normalization.ts';
import { PageQuery } from '#lib/paging.ts';
import { Count, Id, Instant, Slug } from '#lib/scalars.ts';
import { BATTLE_STATES, type Battle } from './rows.ts';

const ID = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
// Not checked again on its way out.
const wallet = (description: string) => z.string().meta({ description, example: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin' });

/** Identifies a battle in a path. */
export const BattlePath = z.object({ id: Id.meta({ description: 'The battle.', example: ID }) });

export const BattlesQuery = PageQuery.extend({ gameId: Slug.optional().meta({ description: 'Only battles of this game.' }) });

/** `POST /battle/create`. */
export const BattleTerms = z
  .strictObject({
    gameId: Slug,
    maxPlayers: z.int().min(2).max(16).default(2).meta({ description: 'With so many it starts by itself.' }),
    durationSec: z.int().min(60).max(86_400).default(300).meta({ description: 'From its start to its end, s.' }),
  })
  .meta({ id: 'BattleTerms', example: { gameId: 'star-raiders', maxPlayers: 4, durationSec: 600 } });
export type BattleTerms = z.output<typeof BattleTerms>;

const { name, category, verification, version, normalization, caps } = GameView.shape;
const score = z.int().min(0).max(SCALE);

export const BattleView = z
  .strictObject({
    id: Id.meta({ example: ID }),
    status: z.enum(BATTLE_STATES).meta({
      description:
        'open: can be joined. running: scores that name it count. finished: the result is there, about a second after its end. expired: not started in time.',
      example: 'running',
    }),
    game: z.strictObject({ id: Slug, name, category, verification, version, normalization, caps }).meta({
      id: 'BattleGame',
      description: 'What is played, as the game is configured now.',
      example: {
        ...{ id: 'star-raiders', name: 'Star Raiders', category: 'shooter', verification: 'heartbeat', version: 3 },
        normalization: { method: 'linear', min: 0, max: 100_000, direction: 'higher' },
        caps: { dailyPoints: 5_000, scorePerSec: 500, minDurationMs: 15_000, maxDurationMs: 1_800_000 },
      },
    }),
    maxPlayers: Count.meta({ example: 4 }),
    durationSec: Count.meta({ example: 600 }),
    createdBy: wallet('Who may start it before all seats are taken.'),
    createdAt: Instant,
    join: z
      .strictObject({
        path: z.string().meta({ description: 'POST to it to take a seat.', example: `/battle/${ID}/join` }),
        seatsLeft: Count.meta({ example: 2 }),
        expiresAt: Instant.meta({ description: 'When it expires unless it is started.' }),
      })
      .nullable()
      .meta({ description: 'null where nobody can join any more.' }),
    startedAt: Instant.nullable(),
    endsAt: Instant.nullable().meta({
      description: 'Scores accepted before it count. Once all participants have scored, that moment; null until it is started.',
    }),
    endedAt: Instant.nullable().meta({ description: 'When it was finished, or expired.' }),
    participants: z
      .array(
        z.strictObject({
          wallet: wallet('Who has the seat.'),
          seat: Count.meta({ description: 'In the order of joining; the creator has the first.', example: 1 }),
          joinedAt: Instant,
          score: score
            .nullable()
            .meta({ description: 'The best normalized score that counts, normally within a second; null for none.', example: 4_821 }),
          scores: Count.meta({ description: 'How many scores count.', example: 3 }),
          place: Count.nullable().meta({
            description: 'Who has the same score shares a place; null until it is finished, and for who has no score.',
            example: 1,
          }),
        }),
      )
      .meta({ description: 'In the order of their seats.' }),
    winners: z.array(wallet('On place 1.')).meta({ description: 'Empty until it is finished, and where nobody has scored.' }),
  })
  .meta({ id: 'Battle' });

/** A battle as it is shown. */
export function presentBattle(battle: Battle, game: Game): z.input<typeof BattleView> {
  const { id, status, maxPlayers, durationSec, createdBy, createdAt, dueAt, due, startedAt, endedAt, participants } = battle;
  return {
    ...{ id, status, maxPlayers, durationSec, createdBy, createdAt, startedAt, endedAt },
    game: {
      ...{ id: game.id, name: game.name, category: game.category, verification: game.verification, version: game.version },
      ...{ normalization: game.normalization, caps: game.caps },
    },
    join: status === 'open' && !due ? { path: `/battle/${id}/join`, seatsLeft: maxPlayers - participants.length, expiresAt: dueAt } : null,
    endsAt: startedAt === null ? null : dueAt,
    participants: participants.map((seat) => ({ ...seat })),
    winners: participants.filter(({ place }) => place === 1).map((seat) => seat.wallet),
  };
}
