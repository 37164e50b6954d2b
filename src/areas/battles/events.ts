import { z } from 'zod';
import { Count, Instant } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);

const seats = Count.max(16);

export const battleCreated = event({
  type: 'battle_created',
  category: 'gameplay',
  summary: 'A battle was opened. Its creator has seat 1; other wallets can join until it starts or expires.',
  payload: z.strictObject({ battleId: Key, gameId: Key, createdBy: Address, maxPlayers: seats, durationSec: Count, expiresAt: Instant }),
});

export const battleJoined = event({
  type: 'battle_joined',
  category: 'gameplay',
  summary: 'A wallet took a seat in a battle. After the last seat, `battle_started` follows.',
  payload: z.strictObject({ battleId: Key, gameId: Key, wallet: Address, seat: seats, seatsLeft: seats }),
});

export const battleExpired = event({
  type: 'battle_expired',
  category: 'gameplay',
  summary: 'A battle expired, because it did not start within an hour.',
  payload: z.strictObject({ battleId: Key, gameId: Key }),
});

export const battleStarted = event({
  type: 'battle_started',
  category: 'gameplay',
  summary: 'A battle began. Scores that name it count until it ends.',
  payload: z.strictObject({ battleId: Key, gameId: Key, players: z.array(Address).min(2).max(16), endsAt: Instant }),
});

export const battleResult = event({
  type: 'battle_result',
  category: 'gameplay',
  summary: 'A battle ended. Results are sorted by score, best first. Equal scores share a place. Without scores there are no winners.',
  payload: z.strictObject({
    battleId: Key,
    gameId: Key,
    winners: z.array(Address).max(16),
    results: z.array(z.strictObject({ wallet: Address, place: z.int().min(1).nullable(), score: Count.nullable() })).max(16),
  }),
});

export const battleEvents = [battleCreated, battleJoined, battleExpired, battleStarted, battleResult];
