import { z } from 'zod';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);

export const battleStarted = event({
  type: 'battle_started',
  category: 'gameplay',
  summary: 'A battle began. Scores that name it count until it ends.',
  payload: z.strictObject({ battleId: Key, gameId: Key, players: z.array(Address).min(2).max(16), endsAt: z.iso.datetime() }),
});

export const battleResult = event({
  type: 'battle_result',
  category: 'gameplay',
  summary: 'A battle ended. Results are sorted by score, best first. Equal scores share a place. Without scores there are no winners.',
  payload: z.strictObject({
    battleId: Key,
    gameId: Key,
    winners: z.array(Address).max(16),
    results: z.array(z.strictObject({ wallet: Address, place: z.int().min(1).nullable(), score: z.int().nullable() })).max(16),
  }),
});

export const battleEvents = [battleStarted, battleResult];
