import { z } from 'zod';
import { event } from '#platform/events/event.ts';

/** The events of rounds. Ids and addresses were checked where they came in. */
const Key = z.string().min(1).max(64);
const Address = z.string().min(1).max(64);
const Amount = z.string().regex(/^\d{1,20}$/);
const Signature = z.string().min(1).max(100);
const At = z.iso.datetime();
const Kind = z.enum(['chat', 'legacy']);
const Mint = z.enum(['reward', 'usdc']);

export const newEntry = event({
  type: 'new_entry',
  category: 'gameplay',
  summary: 'An entry of a round was accepted: of a chat round, or (without numbers) a ticket.',
  payload: z.strictObject({ roundId: Key, kind: Kind, entryId: Key, index: z.int(), wallet: Address, numbers: z.array(z.int()) }),
});

export const roundStarted = event({
  type: 'round_started',
  category: 'round',
  summary: 'A round takes entries.',
  payload: z.strictObject({ roundId: Key, kind: Kind, title: z.string().nullable(), opensAt: At, closesAt: At }),
});

export const roundClosed = event({
  type: 'round_closed',
  category: 'round',
  summary: 'A round takes no more entries; its entries are public and go into a commitment.',
  payload: z.strictObject({ roundId: Key, kind: Kind, entries: z.int() }),
});

export const roundCommitted = event({
  type: 'round_committed',
  category: 'round',
  summary: 'A round’s entries are committed to on the chain, finally; the beacon’s round decides it.',
  payload: z.strictObject({
    roundId: Key,
    kind: Kind,
    sequence: z.int(),
    entries: z.int(),
    root: z.hex(),
    signature: Signature,
    beaconRound: z.int(),
    dueAt: At,
  }),
});

export const roundFinalized = event({
  type: 'round_finalized',
  category: 'round',
  summary: 'A round is drawn. A legacy round has the winning ticket’s index instead of numbers.',
  payload: z.strictObject({ roundId: Key, kind: Kind, numbers: z.array(z.int()), winningTicket: z.int().nullable(), winners: z.int() }),
});

export const roundVoid = event({
  type: 'round_void',
  category: 'round',
  summary: 'A round ended without a draw. Its entries are those of `successor`, where there is one; tickets that were paid for are paid back.',
  payload: z.strictObject({ roundId: Key, kind: Kind, reason: z.string(), successor: Key.nullable() }),
});

export const winnerAnnounced = event({
  type: 'winner_announced',
  category: 'round',
  summary: 'A wallet won a prize; it is paid by itself.',
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
  summary: 'A ticket counts. To its wallet only.',
  payload: z.strictObject({ roundId: Key, ticketId: Key, ticketNumber: z.int(), signature: Signature.nullable() }),
});

export const ticketRefused = event({
  type: 'ticket_refused',
  category: 'round',
  summary: 'A ticket does not count; what was paid for it is paid back. To its wallet only.',
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
