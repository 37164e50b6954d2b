import { z } from 'zod';
import { Hash } from '#lib/draw/bytes.ts';
import { RoundParameters } from '#lib/draw/parameters.ts';
import { SignedAnnouncement, SignedClosed } from '#lib/draw/statements.ts';
import { Count, Instant } from '#lib/scalars.ts';
import { event } from '#platform/events/event.ts';

// Ids and addresses are validated before an event is emitted, so this schema checks only their length.
const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);
const Kind = z.enum(['chat', 'legacy']);
const Mint = z.enum(['reward', 'usdc']);

export const newEntry = event({
  type: 'new_entry',
  category: 'gameplay',
  summary: 'An entry of a round was accepted. A ticket of a legacy round has no numbers.',
  payload: z.strictObject({ roundId: Key, kind: Kind, entryId: Key, index: Count, wallet: Address, numbers: z.array(Count) }),
});

export const roundStarted = event({
  type: 'round_started',
  category: 'round',
  summary: 'A round has opened for entries. Its parameters never change; the announcement is signed.',
  payload: z.strictObject({
    ...{ roundId: Key, kind: Kind, title: z.string().nullable(), opensAt: Instant, closesAt: Instant },
    ...{ parameters: RoundParameters, parametersHash: Hash, announcement: SignedAnnouncement },
  }),
});

export const roundClosed = event({
  type: 'round_closed',
  category: 'round',
  summary: 'A round has closed for entries. Its entries are public; a commitment to them follows. `closed` is the signed statement about them.',
  payload: z.strictObject({ roundId: Key, kind: Kind, entries: Count, closed: SignedClosed }),
});

export const roundCommitted = event({
  type: 'round_committed',
  category: 'round',
  summary: 'The commitment to a round’s entries is finalized on the chain. The named beacon round decides the draw.',
  payload: z.strictObject({
    roundId: Key,
    kind: Kind,
    entries: Count,
    root: Hash,
    leaf: Hash,
    account: Address,
    slot: Count,
    signature: Signature.nullable(),
    beaconRound: Count,
    dueAt: Instant,
  }),
});

export const roundFinalized = event({
  type: 'round_finalized',
  category: 'round',
  summary: 'A round was drawn. A legacy round has `winningTicket` (an index) instead of numbers.',
  payload: z.strictObject({ roundId: Key, kind: Kind, numbers: z.array(Count), winningTicket: Count.nullable(), winners: Count }),
});

export const roundVoid = event({
  type: 'round_void',
  category: 'round',
  summary: 'A round ended without entries, so it is not drawn.',
  payload: z.strictObject({ roundId: Key, kind: Kind, reason: z.string(), closed: SignedClosed }),
});

export const winnerAnnounced = event({
  type: 'winner_announced',
  category: 'round',
  summary: 'A wallet won a prize. The payout follows automatically.',
  payload: z.strictObject({
    roundId: Key,
    kind: Kind,
    place: z.int().min(1),
    wallet: Address,
    prize: z.strictObject({ amount: Amount, mint: Mint }),
  }),
});

export const ticketConfirmed = event({
  type: 'ticket_confirmed',
  category: 'round',
  summary: 'A ticket was accepted. Sent to its wallet only.',
  payload: z.strictObject({ roundId: Key, ticketId: Key, ticketNumber: Count, signature: Signature.nullable() }),
});

export const ticketRefused = event({
  type: 'ticket_refused',
  category: 'round',
  summary: 'A ticket was refused; its payment is refunded. Sent to its wallet only.',
  payload: z.strictObject({ roundId: Key, ticketId: Key, signature: Signature.nullable(), reason: z.string(), refund: Amount.nullable() }),
});

export const roundEvents = [
  newEntry,
  roundStarted,
  roundClosed,
  roundCommitted,
  roundFinalized,
  roundVoid,
  winnerAnnounced,
  ticketConfirmed,
  ticketRefused,
];
